package io.pipelane.switcher;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.memory.MemoryDaemon;
import io.pipelane.switcher.memory.StructureRange;
import io.pipelane.switcher.worker.Worker;
import io.pipelane.switcher.working.WorkingMemory;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of a device that are there, and how more come to stand ready before anybody asks for
 * them. Safe for any thread, and at once but for building.
 */
public final class StandingSessions {
  private final Worker worker;
  private final WorkingMemory working;
  private final MemoryDaemon daemon;
  private final Admission admission;

  StandingSessions(Worker worker, WorkingMemory working, MemoryDaemon daemon, Admission admission) {
    this.worker = worker;
    this.working = working;
    this.daemon = daemon;
    this.admission = admission;
  }

  /** Whether sessions keep what first runs capture, and offline work has none of its own. */
  public boolean keepFirstRuns() {
    return working.shareLanes().isEmpty() && worker.firstRunsStay();
  }

  /**
   * What a model's sessions are built for, which models that share them have in common; null where
   * none is built.
   */
  public @Nullable StructureRange of(ModelVersion version) {
    return worker.session(version);
  }

  /** Whether a model has its session, so that it need not be built. */
  public boolean has(ModelVersion version) {
    return of(version) != null;
  }

  /**
   * What a session of a model takes of the working memory: a bound, or as much as one took here if
   * that was more; 0 for a model that is not registered.
   */
  public long bytes(ModelVersion version) {
    return worker.sessionBytes(version);
  }

  /** What building a model's session took here lately; 0 where none was. */
  public long buildNanos(ModelVersion version) {
    return worker.buildNanos(version);
  }

  /** Whether a model is here that one may share sessions and addresses with. */
  public boolean hasStructureOf(ImportedModel model) {
    return worker.isHere(model.plan().structureHash());
  }

  /**
   * Whether a model that is to come may have its own sessions and addresses rather than share those
   * of others: whether they would leave half of the working memory beside all that models here may
   * have.
   *
   * @param coming models with sessions of their own that are being registered as well
   */
  public boolean hasRoomUnshared(ImportedModel model, int coming) {
    return worker.hasRoomUnshared(model, coming);
  }

  /** How many of a model's sessions are built: one at most, or one in each lane. */
  public int count(ModelVersion version) {
    return worker.sessions(version);
  }

  /** How many there may be of each model. */
  public int most() {
    return worker.lanesForSessions();
  }

  /**
   * The lanes in which a model's sessions are built, for {@link InferenceRequest#in}; none where
   * sessions are bound to none.
   */
  public Set<EphemeralRegion> lanes(ModelVersion version) {
    return worker.readyLanes(version);
  }

  /** Whether nobody is in one of these lanes, where the latest run's capture may be made yet. */
  public boolean isFree(EphemeralRegion lane) {
    return working.lanes().isFree(lane);
  }

  /**
   * Builds the session of an announced model if there is room for it that nobody has to leave;
   * blocks while it does, and the model is not deregistered meanwhile.
   *
   * @return false when there was no room, or no lane to build it in; a request makes some
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered, {@link
   *     Status#INVALID_ARGUMENT} or {@link Status#INTERNAL} when ONNX Runtime refuses it
   */
  public boolean buildAhead(ModelVersion version) {
    return build(version, worker::buildAhead);
  }

  /**
   * Builds one more of a model's sessions, in a lane that has none, from working memory that is
   * free; blocks a platform thread, and the model is not deregistered meanwhile.
   *
   * @return false when there was no room, or no lane to build it in
   * @throws StatusException as {@link #buildAhead}
   */
  public boolean buildInAnotherLane(ModelVersion version) {
    return build(version, worker::buildInAnotherLane);
  }

  private boolean build(ModelVersion version, Predicate<ModelVersion> way) {
    AtomicBoolean isThere = new AtomicBoolean();
    admission.build(version, () -> isThere.set(way.test(version)));
    return isThere.get();
  }

  /**
   * Has a model's weights count as what nobody has asked for, whatever has run.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void forgetUses(ModelVersion version) {
    daemon.forgetUses(version, Optional.empty());
  }

  /** How much of the working memory nobody would have taken if so much more of it were, up to 1. */
  public double freeShare(long takenBytes) {
    long free = working.lanes().freeBytes() - takenBytes;
    return (double) free / working.lanes().capacityBytes();
  }
}
