package io.pipelane.switcher;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Releases;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.memory.MemoryDaemon;
import io.pipelane.switcher.memory.StructureRange;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.schedule.queue.Terms;
import io.pipelane.switcher.schedule.run.Execution;
import io.pipelane.switcher.sequence.Sequences;
import io.pipelane.switcher.sharing.gate.Slowdowns;
import io.pipelane.switcher.worker.Worker;
import java.util.function.Consumer;

/**
 * The way of a model into service on a device, and out of it: who has to know of it, and in which
 * order. Safe for any platform thread; blocks.
 */
final class Registration {
  /*
   * The version's name is taken first and given back last, so nobody registers it anew while
   * something of it is left. Between, memory is had before a session, and given back before it,
   * too. When a step throws, those before it are undone. Requests are let in when all parts know of
   * the model, and no longer when it leaves. What waits and runs is told before anybody waits for
   * its end.
   */
  private final SegmentProfiles profiles;
  private final Admission admission;
  private final Sequences sequences;
  private final RequestQueue queue;
  private final Slowdowns slowdowns;
  private final MemoryDaemon daemon;
  private final Worker worker;
  private final Execution execution;

  /** Nothing is in service yet. */
  Registration(
      SegmentProfiles profiles,
      Admission admission,
      Sequences sequences,
      RequestQueue queue,
      Slowdowns slowdowns,
      MemoryDaemon daemon,
      Worker worker,
      Execution execution) {
    this.profiles = profiles;
    this.admission = admission;
    this.sequences = sequences;
    this.queue = queue;
    this.slowdowns = slowdowns;
    this.daemon = daemon;
    this.worker = worker;
    this.execution = execution;
  }

  /**
   * Puts a model in service.
   *
   * @param preparation has the worker know it, where its weights will lie
   * @throws StatusException what the preparation throws, or {@link Status#INSUFFICIENT_MEMORY} when
   *     it can never fit; nothing is left then
   * @throws IllegalStateException when the version is there, or something is left of it
   */
  void register(ImportedModel model, ModelOptions options, Consumer<StructureRange> preparation) {
    ModelVersion version = model.version();
    InService service = admission.enter(version);
    try {
      sequences.agree(model, options.state());
      prepare(model, preparation);
    } catch (RuntimeException | Error e) {
      admission.forget(version);
      throw e;
    }
    agree(model, options);
    service.open();
  }

  private void prepare(ImportedModel model, Consumer<StructureRange> preparation) {
    profiles.of(model.plan().structureHash()); // Reads its file while no lock is held.
    StructureRange range = daemon.register(model);
    try {
      preparation.accept(range);
    } catch (RuntimeException | Error e) {
      daemon.deregister(model.version());
      throw e;
    }
  }

  /** Has a model's requests be treated as its owner wants from now on. */
  void agree(ImportedModel model, ModelOptions options) {
    Terms terms = Terms.of(model, options);
    boolean alone = sequences.runsAlone(model.version());
    queue.agree(model.version(), alone ? terms.unbatched() : terms);
    slowdowns.agree(model.version(), options.limits().maxSlowdown());
  }

  /**
   * Takes no more requests for a model, but its holders' online ones, and refuses the offline ones
   * that it has taken; {@link #remove} follows.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not in service
   */
  void leave(ModelVersion version) {
    admission.leave(version);
    queue.leave(version);
    execution.modelLeaves();
  }

  /**
   * Takes out a model that leaves. What fails keeps nothing else: it is told once the rest has
   * gone.
   *
   * @param endNanos how long the requests that it has taken are answered, by {@link
   *     System#nanoTime}
   */
  void remove(ModelVersion version, long endNanos) {
    admission.awaitNone(version, endNanos);
    try (Releases all = new Releases()) { // In reverse order.
      all.add(version, admission::forget);
      all.add(version, slowdowns::forget);
      all.add(version, queue::forget);
      all.add(version, execution::forget);
      all.add(version, worker::discard);
      all.add(version, daemon::deregister);
    }
  }
}
