package io.pipelane.switcher.worker;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.LaneLease;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.memory.Lease;
import io.pipelane.switcher.memory.Structure;
import io.pipelane.switcher.memory.StructureRange;
import io.pipelane.switcher.sharing.gate.OnlineWork.MemoryWait;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A builder and runner of sessions on memory that the memory daemon lends. Safe for any platform
 * thread.
 */
public interface Worker extends AutoCloseable {
  /**
   * Makes a model known, and builds a session for it unless one of its structure exists.
   *
   * @param range where its weights will lie
   * @param priority the class of requests that name none
   * @param wait begun, perhaps several times, while it waits for what runs have
   * @throws StatusException when ONNX Runtime refuses the model, or its constants can never fit
   */
  void prepare(ImportedModel model, StructureRange range, Priority priority, MemoryWait wait);

  /**
   * Makes a model known; its session is built when it is needed first, or {@link #buildAhead
   * ahead}.
   *
   * @throws StatusException when its constants can never fit
   */
  void announce(ImportedModel model, StructureRange range, Priority priority);

  /**
   * Builds a session for a model that none of its structure has, if there is room that nobody has
   * to leave. Nothing is brought in. The caller sees to it that the model is not discarded
   * meanwhile.
   *
   * @return whether there is one, or soon will be; false when there was no room for it, or no lane
   *     to build it in
   * @throws StatusException when ONNX Runtime refuses the model, or building it twice loses its
   *     process
   */
  boolean buildAhead(ModelVersion version);

  /**
   * The same in a lane that has no session for the model yet, where sessions are bound to lanes.
   *
   * @return false when there was no room for it, or no such lane that nobody is in; true where
   *     every lane has one
   * @throws StatusException as {@link #buildAhead}
   */
  boolean buildInAnotherLane(ModelVersion version);

  /**
   * Whether a model that is to come may have its own sessions rather than share those of a
   * structure that is here: whether all that is here, and it, would leave half of the working
   * memory if they had a session in each lane. For any thread, and at once.
   *
   * @param coming models with sessions of their own that are about to come as well
   */
  boolean hasRoomUnshared(ImportedModel model, int coming);

  /** Whether a model of a structure is here. For any thread, and at once. */
  boolean isHere(String structureHash);

  /** How many sessions there may be for a model: one, or one in each lane. At once. */
  int lanesForSessions();

  /** How many of them are built. For any thread, and at once. */
  int sessions(ModelVersion version);

  /**
   * The lanes in which a model's sessions are built; none where they are bound to none. For any
   * thread, and at once.
   */
  Set<EphemeralRegion> readyLanes(ModelVersion version);

  /**
   * Builds a session for the model of a lease where there is none. Called outside of lanes.
   *
   * @param wait begun, perhaps several times, while it waits for what runs have
   * @throws StatusException when there is no room for it, and never can be
   */
  void makeReady(ModelVersion version, Lease lease, MemoryWait wait);

  /**
   * Whether a model's runs compute on the thread that calls, for a time that its inputs' shapes
   * determine; for any thread, and at once.
   */
  boolean runsAtOnce(ModelVersion version);

  /**
   * Whether runs can succeed; false once the device is lost, of which nothing need be asked again.
   */
  boolean isUsable();

  /**
   * Whether a session keeps what a first run has loaded and captured, and runs of both classes have
   * it in common.
   */
  boolean firstRunsStay();

  /**
   * The range that a model's session is built for, if one is; models that share it share the
   * session. For any thread, and at once.
   */
  @Nullable StructureRange session(ModelVersion version);

  /** What building a model's session took lately; 0 where none was. Any thread, at once. */
  long buildNanos(ModelVersion version);

  /** The lanes in which the model of a lease can run without its session being built first. */
  Set<EphemeralRegion> lanesOf(Lease lease);

  /**
   * Waits for room for a session of the lease's model, and for a lane beside it. Called outside of
   * lanes; closed by the same thread, after the run.
   *
   * @param run whose lane it will be
   * @throws StatusException as {@link #makeLaneRoom}
   */
  SessionRoom makeRoom(Lease lease, long laneBytes, InferenceRequest run);

  /** What a session of the lease's model is expected to take, were one more built. */
  long sessionBytes(Lease lease);

  /** The same for a model that is not leased; 0 for one that is not known. */
  long sessionBytes(ModelVersion version);

  /** Whether the sessions that one more range of a structure needs would fit now. */
  boolean hasRoomForRange(Structure structure);

  /**
   * Closes one of the sessions that nobody has asked for since they were built, in favour of so
   * many bytes of working memory; none where they are free already.
   *
   * @return false where closing all of them would not be enough; none is closed then
   */
  boolean evictUnused(long bytes);

  /**
   * Whether so many bytes of working memory are free, or would be with all idle sessions closed;
   * for any thread, and at once.
   */
  boolean canFree(long bytes);

  /**
   * Whether sessions are in use, being built or being closed beside one: what they hold may come
   * free. For any thread, and at once.
   */
  boolean areOthersInUse();

  /**
   * Has idle sessions be closed by another thread, in favour of so many bytes of working memory;
   * none where closing all of them would not be enough.
   */
  void evictIdleBeside(long bytes);

  /**
   * Closes idle sessions, and has idle states leave, until a run can have a lane of so many bytes.
   * Called outside of lanes.
   *
   * @param beforeWaiting called, perhaps several times, before it waits for sessions in use
   * @throws StatusException when it never can, or what holds it is not waited for
   */
  void makeLaneRoom(InferenceRequest run, long laneBytes, Runnable beforeWaiting);

  /**
   * Runs a request once, on the calling thread; places its outputs with the handler, and tells the
   * handler nothing else.
   *
   * @param caller told what the end will be where that is known sooner
   * @throws NoSessionRoomException when a session has to be built and there is no room for it now
   * @throws io.pipelane.lanes.execution.OutOfDeviceMemoryException when the lane has no room and
   *     cannot grow; nothing has been placed then
   * @throws StatusException when the run fails, or twice loses its process
   */
  void run(
      InferenceRequest request, Lease lease, LaneLease lane, ResultHandler handler, Caller caller);

  /**
   * The same of a model that {@link #runsAtOnce}, where its session is built.
   *
   * @return false where it is not; nothing has happened then
   */
  boolean runIfReady(
      InferenceRequest request, Lease lease, LaneLease lane, ResultHandler handler, Caller caller);

  /** The caller that waits for a run; told on its thread, of one of the two at most. */
  interface Caller {
    /** The outputs are written, and the run, which will not fail, goes on for the worker's sake. */
    void placed();

    /**
     * The run has failed, but its lane and its weights may be touched still, until it returns: its
     * process has been killed and does not end.
     */
    void failed(StatusException reason);
  }

  /** Forgets a model; nothing of it runs. */
  void discard(ModelVersion version);

  /** Why a model's requests are refused, if they are; for any thread, and at once. */
  Optional<String> quarantine(ModelVersion version);

  /** What became of runs that lost their process; for any thread, and at once. */
  RetryOverview retries();

  /** Forgets why a model's requests are refused. */
  void trust(ModelVersion version);

  /** What the sessions of a model tell of how they run; for any thread, and at once. */
  List<String> notes(ModelVersion version);

  /** The sessions that exist now. */
  SessionOverview sessions();

  /** Rows that batches were filled up with, since the start; for any thread, and at once. */
  long paddedRows();

  /** Room kept free for one session, which the next of its structure to be built uses. */
  interface SessionRoom extends AutoCloseable {
    @Override
    void close();
  }

  @Override
  void close();
}
