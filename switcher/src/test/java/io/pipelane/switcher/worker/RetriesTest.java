package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.modelstore.ModelVersion;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class RetriesTest {
  private static final ModelVersion MODEL = new ModelVersion("m", 1);
  private static final ModelVersion OTHER = new ModelVersion("other", 1);

  private final Retries retries = new Retries();
  private final AtomicInteger attempts = new AtomicInteger();

  private void losing(ModelVersion model, int times) {
    int until = attempts.get() + times;
    retries.attempt(
        model,
        () -> {
          if (attempts.incrementAndGet() <= until) {
            throw new WorkerLostException("worker 7 ended");
          }
        });
  }

  @Test
  void attempt_lostOnce_isDoneAgainAndNothingIsHeldAgainstTheModel() {
    losing(MODEL, 1);
    assertEquals(2, attempts.get());
    losing(MODEL, 1);
    assertEquals(4, attempts.get());
    assertTrue(retries.quarantine(MODEL).isEmpty());
  }

  @Test
  void attempt_lostTwice_quarantinesTheModelAloneUntilItIsForgotten() {
    StatusException error = assertThrows(StatusException.class, () -> losing(MODEL, 2));
    assertEquals(Status.UNAVAILABLE, error.status());
    assertTrue(error.toString().contains("worker 7 ended"), error.toString());
    assertTrue(error.toString().contains("m/1"), error.toString());
    assertThrows(StatusException.class, () -> losing(MODEL, 0));
    assertEquals(2, attempts.get(), "a model in quarantine is not tried");
    assertTrue(retries.quarantine(MODEL).orElseThrow().contains("worker 7 ended"));
    losing(OTHER, 0);
    retries.forget(MODEL);
    losing(MODEL, 0);
    assertTrue(retries.quarantine(MODEL).isEmpty());
  }

  @Test
  void prepare_lostTwice_isRefusedAndMayBeTriedAnew() {
    AtomicInteger losses = new AtomicInteger(3);
    Runnable work =
        () -> {
          attempts.incrementAndGet();
          if (losses.getAndDecrement() > 0) {
            throw new WorkerLostException("worker 7 ended");
          }
        };
    StatusException error = assertThrows(StatusException.class, () -> retries.prepare(MODEL, work));
    assertEquals(Status.UNAVAILABLE, error.status());
    retries.prepare(MODEL, work);
    assertEquals(4, attempts.get());
    losing(MODEL, 0);
  }

  @Test
  void attempt_failsOtherwise_isNotDoneAgain() {
    StatusException thrown = new StatusException(Status.INVALID_ARGUMENT, "thrown on purpose");
    StatusException error =
        assertThrows(
            StatusException.class,
            () ->
                retries.attempt(
                    MODEL,
                    () -> {
                      attempts.incrementAndGet();
                      throw thrown;
                    }));
    assertEquals(thrown, error);
    assertEquals(1, attempts.get());
  }

  @Test
  void attempt_twoModelsLostTogether_areTriedOneAtATime() throws Exception {
    CountDownLatch bothLost = new CountDownLatch(2);
    AtomicInteger running = new AtomicInteger();
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Future<?> one = threads.submit(() -> loseTogether(MODEL, bothLost, running));
      Future<?> other = threads.submit(() -> loseTogether(OTHER, bothLost, running));
      one.get(10, TimeUnit.SECONDS);
      other.get(10, TimeUnit.SECONDS);
    }
    assertTrue(retries.quarantine(MODEL).isEmpty());
    assertTrue(retries.quarantine(OTHER).isEmpty());
  }

  private void loseTogether(ModelVersion model, CountDownLatch bothLost, AtomicInteger running) {
    AtomicInteger own = new AtomicInteger();
    retries.attempt(
        model,
        () -> {
          if (own.incrementAndGet() == 1) {
            bothLost.countDown();
            await(bothLost);
            throw new WorkerLostException("lost with the other");
          }
          assertFalse(running.incrementAndGet() > 1, "both suspects run");
          running.decrementAndGet();
        });
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(10, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
