package io.pipelane.switcher.schedule.run;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.worker.Worker;
import java.lang.System.Logger.Level;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The answer to a caller at the end of a run, given exactly once. Belongs to the thread that runs.
 */
final class Answer {
  private static final System.Logger LOG = System.getLogger(Answer.class.getName());

  private final ModelVersion model;
  private final ResultHandler handler;
  private Runnable whenGiven = () -> {};
  private Consumer<StatusException> whenStuck = _ -> {};
  private boolean given;
  private boolean stuck;

  Answer(ModelVersion model, ResultHandler handler) {
    this.model = model;
    this.handler = handler;
  }

  /** Has somebody told of the end just before the caller is. */
  Answer whenGiven(Runnable told) {
    whenGiven = told;
    return this;
  }

  /** Has somebody told, behind the caller, where the run fails and is not over. */
  Answer whenStuck(Consumer<StatusException> told) {
    whenStuck = told;
    return this;
  }

  /** Whether the run has failed so. */
  boolean wasStuck() {
    return stuck;
  }

  /** Whether the caller knows the end. */
  boolean isGiven() {
    return given;
  }

  void complete(InferenceTimings timings) {
    give(to -> to.completed(timings));
  }

  /** Tells of a run that ended early, of whatever kind the reason is. */
  void fail(Throwable reason) {
    if (given) {
      LOG.log(Level.WARNING, model + " failed after its answer", reason);
      return;
    }
    StatusException error;
    if (reason instanceof StatusException known) {
      error = known;
    } else {
      LOG.log(Level.ERROR, "running " + model + " failed", reason);
      error =
          new StatusException(Status.INTERNAL, "running " + model + " failed: " + reason, reason);
    }
    give(to -> to.failed(error));
  }

  /**
   * What is told of before the run is over.
   *
   * @param timings what they are then
   */
  Worker.Caller toCaller(Supplier<InferenceTimings> timings) {
    return new Worker.Caller() {
      @Override
      public void placed() {
        complete(timings.get());
      }

      @Override
      public void failed(StatusException reason) {
        fail(reason);
        stuck = true;
        whenStuck.accept(reason);
      }
    };
  }

  private void give(Consumer<ResultHandler> end) {
    if (given) {
      return;
    }
    given = true;
    whenGiven.run();
    try {
      end.accept(handler);
    } catch (Throwable e) { // The handler is the caller's.
      LOG.log(Level.ERROR, "answering a request for " + model + " failed", e);
    }
  }
}
