package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.RunControl;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Timeout;

/** Retries of what a lost worker process did, of two models. */
@Timeout(20)
abstract class RetriesFixture {
  static final ModelVersion MODEL = new ModelVersion("m", 1);

  static final ModelVersion OTHER = new ModelVersion("other", 1);

  boolean deviceIsLost;

  final Retries retries = new Retries(() -> deviceIsLost, false);

  final AtomicInteger attempts = new AtomicInteger();

  static WorkerLostException lost(Blame blame) {
    return new WorkerLostException("worker 7 ended", blame);
  }

  /** An online run that is never late. */
  void run(ModelVersion model, Runnable work) {
    retries.run(model, Priority.ONLINE, () -> false, RunControl.NONE, work);
  }

  void losing(ModelVersion model, int times) {
    int until = attempts.get() + times;
    run(
        model,
        () -> {
          if (attempts.incrementAndGet() <= until) {
            throw lost(Blame.ALONE);
          }
        });
  }

  void prepare(Runnable work) {
    retries.preparing(MODEL, Priority.ONLINE).accept(work);
  }

  /** A run that loses its worker, for certain, and is not done once more. */
  void losingLate(ModelVersion model) {
    assertThrows(
        StatusException.class,
        () ->
            retries.run(
                model,
                Priority.ONLINE,
                () -> true,
                RunControl.NONE,
                () -> {
                  throw lost(Blame.ALONE);
                }));
  }

  static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(10, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
