package io.pipelane.lanes.process;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.SharedLane;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.modelstore.Plan;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.OptionalLong;

/**
 * A session that the worker of the run's class runs, and builds first where it has not. A run whose
 * worker is replaced begins anew in the next one.
 *
 * <p>A run that loses its worker ends with {@link WorkerLostException}, once the worker's process
 * is gone; it may be begun anew. If that cannot be ended it is {@link WorkerStuckException}, and
 * the run's lane and weights stay lent. Runs are safe on several platform threads at once, each
 * with its lane.
 */
final class ProcessSession implements ModelSession {
  private static final System.Logger LOG = System.getLogger(ProcessSession.class.getName());
  private static final String NOT_CAPTURED =
      "not captured: that has cost two worker processes in a row; load it anew to try again";

  private final ProcessSessionFactory factory;
  private final KnownSession known;
  private final RemoteModel model;
  private final ExpectedTimes times = new ExpectedTimes();
  private volatile long heldBytes;
  private volatile List<String> notes = List.of();

  /**
   * A session that is built in the active worker.
   *
   * @param heldBytes device memory that it holds there beside its constants
   */
  ProcessSession(ProcessSessionFactory factory, KnownSession known, Plan plan, long heldBytes) {
    this.factory = factory;
    this.known = known;
    this.model = new RemoteModel(plan);
    this.heldBytes = heldBytes;
  }

  @Override
  public void run(
      Invocation invocation,
      EphemeralRegion region,
      MemoryTarget.Growth growth,
      WeightArrivals weights) {
    while (!hasRun(invocation, region, growth, weights)) { // In the next worker, then.
      weights.await(model.segments() - 1);
    }
  }

  /** Returns false where the worker is being replaced, and has ended the run at a gate. */
  private boolean hasRun(
      Invocation invocation,
      EphemeralRegion region,
      MemoryTarget.Growth growth,
      WeightArrivals weights) {
    WorkerProcess worker =
        factory.enter(
            invocation.priority(), invocation.owner(), invocation.patienceNanos(), weights);
    try (UnderWay.Ended _ = worker.underWay().begin();
        RemoteRun run =
            new RemoteRun(
                model, invocation, handed(region, worker), growth, weights, factory.shared())) {
      ExpectedTime time = times.of(invocation.inputs());
      time.seed(() -> usualNanos(invocation, weights));
      run.expect(time, factory.awakeNanos());
      run.announce(worker);
      require(worker);
      OptionalLong held = in(worker, run);
      run.notes().ifPresent(text -> notes = text);
      if (held.isEmpty()) {
        return false;
      }
      heldBytes = held.getAsLong();
      known
          .shapes()
          .ran(invocation.inputs(), run.isCaptured(), () -> run.repetition(known))
          .ifPresent(warmUp -> factory.repeat(known, warmUp));
      return true;
    } catch (OutOfDeviceMemoryException | WorkerLostException e) {
      // Begun anew, the run is told of no arrivals a second time.
      weights.await(model.segments() - 1);
      throw e;
    } catch (StatusException e) {
      if (e.status() == Status.DEVICE_FAILURE) { // A copy has failed, perhaps; the caller will ask.
        factory.checkDevice();
      }
      throw e;
    } finally {
      worker.leave();
    }
  }

  /** What its runs take, as they have told. */
  ExpectedTimes times() {
    return times;
  }

  /** What such runs take, as others have told of them or else as the plan expects. */
  private long usualNanos(Invocation invocation, WeightArrivals weights) {
    long told = weights.usualNanos();
    return told > 0 ? told : PlannedTime.nanos(known.model().plan(), invocation.inputs());
  }

  /** The lane, for the worker's next run. */
  private static SharedLane handed(EphemeralRegion region, WorkerProcess worker) {
    SharedLane lane = (SharedLane) region;
    lane.host().handTo(worker.laneUser(), worker::isGone);
    return lane;
  }

  private OptionalLong in(WorkerProcess worker, RemoteRun run) {
    try {
      return run.in(worker, known.number(), factory.settings().times().hang());
    } catch (WorkerStuckException e) {
      throw factory.heldBack(worker, e, run.writesToDevice());
    } finally {
      noteCapture(run);
    }
  }

  /** What became of the worker when it captured the run, after the answer. */
  private void noteCapture(RemoteRun run) {
    String structure = structure();
    if (run.isFinished()) {
      factory.captureLosses().survived(structure);
    }
    run.blameAfterAnswer()
        .filter(blame -> factory.captureLosses().lost(structure, blame))
        .ifPresent(
            blame ->
                LOG.log(
                    Level.WARNING,
                    "{0} is not captured any more: its captures have cost two workers in a row",
                    known.model().version()));
  }

  private String structure() {
    return known.model().plan().structureHash();
  }

  /** A larger lane would not help where the worker has no room for the session. */
  private void require(WorkerProcess worker) {
    try {
      boolean isBuiltNow = !worker.builds().has(known);
      Message.Built _ = worker.builds().require(known);
      if (isBuiltNow) {
        factory.builtForARun(known);
      }
      if (!factory.captureLosses().isRefused(structure())) {
        worker.builds().allowCaptures(known.number());
      } else if (worker.builds().refuseCaptures(known.number())) {
        known.shapes().forgetCaptures();
      }
    } catch (OutOfDeviceMemoryException e) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "worker %d has no memory for the session: it was refused %d bytes"
              .formatted(worker.id(), e.refusedBytes()),
          e);
    }
  }

  /** Every worker will hold as much. */
  @Override
  public long frameworkBytes() {
    return heldBytes * factory.processes();
  }

  @Override
  public List<String> notes() {
    return factory.captureLosses().isRefused(structure()) ? List.of(NOT_CAPTURED) : notes;
  }

  @Override
  public void shrink() {
    known.shapes().forgetCaptures();
    factory.shrink(known).ifPresent(bytes -> heldBytes = bytes);
  }

  @Override
  public void close() {
    factory.forget(known);
  }
}
