package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.RunControl;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs that are lost with their worker process are done again. */
@Timeout(20)
class RetriesTest extends RetriesFixture {
  @Test
  void attempt_lostOnce_isDoneAgainAndNothingIsHeldAgainstTheModel() {
    losing(MODEL, 1);
    assertEquals(2, attempts.get());
    losing(MODEL, 1);
    assertEquals(4, attempts.get());
    assertTrue(retries.quarantine(MODEL).isEmpty());
    losing(MODEL, 0);
    assertEquals(new RetryOverview(2, 0, 0, 0), retries.overview());
  }

  /** Another device is asked at once, and the model is not to blame. */
  @Test
  void attempt_lostWithItsDevice_isNotDoneAgain() {
    deviceIsLost = true;
    StatusException error = assertThrows(StatusException.class, () -> losing(MODEL, 2));
    assertEquals(Status.DEVICE_FAILURE, error.status());
    assertEquals(1, attempts.get());
    deviceIsLost = false;
    losing(MODEL, 1);
    assertTrue(retries.quarantine(MODEL).isEmpty());
  }

  /** The next worker does not come in time. */
  @Test
  void attempt_deadlinePassesWhileItWaitsForAWorker_isToldSo() {
    AtomicLong late = new AtomicLong();
    StatusException error =
        assertThrows(
            StatusException.class,
            () ->
                retries.run(
                    MODEL,
                    Priority.ONLINE,
                    () -> late.get() > 0,
                    RunControl.NONE,
                    () -> {
                      if (attempts.incrementAndGet() == 1) {
                        throw lost(Blame.ALONE);
                      }
                      late.set(1);
                      throw new StatusException(Status.UNAVAILABLE, "no worker is ready");
                    }));
    assertEquals(Status.UNAVAILABLE, error.status());
    assertTrue(error.toString().contains("its deadline has passed"), error.toString());
    assertInstanceOf(WorkerLostException.class, error.getCause());
    assertEquals(2, attempts.get());
    assertEquals(new RetryOverview(0, 0, 1, 0), retries.overview());
  }

  @Test
  void attempt_lostTwice_quarantinesTheModelAloneUntilItIsForgotten() {
    StatusException error = assertThrows(StatusException.class, () -> losing(MODEL, 2));
    assertEquals(Status.UNAVAILABLE, error.status());
    assertTrue(error.toString().contains("worker 7 ended"), error.toString());
    assertTrue(error.toString().contains("m/1"), error.toString());
    assertInstanceOf(WorkerLostException.class, error.getCause());
    assertThrows(StatusException.class, () -> losing(MODEL, 0));
    assertEquals(2, attempts.get(), "a model in quarantine is not tried");
    assertTrue(retries.quarantine(MODEL).orElseThrow().contains("worker 7 ended"));
    assertEquals(new RetryOverview(0, 1, 0, 1), retries.overview());
    losing(OTHER, 0);
    retries.forget(MODEL);
    losing(MODEL, 0);
    assertTrue(retries.quarantine(MODEL).isEmpty());
  }

  @Test
  void attempt_failsOtherwise_isNotDoneAgain() {
    StatusException thrown = new StatusException(Status.INVALID_ARGUMENT, "thrown on purpose");
    StatusException error =
        assertThrows(
            StatusException.class,
            () ->
                run(
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
    run(
        model,
        () -> {
          if (own.incrementAndGet() == 1) {
            bothLost.countDown();
            await(bothLost);
            throw lost(Blame.UNKNOWN);
          }
          assertFalse(running.incrementAndGet() > 1, "both suspects run");
          running.decrementAndGet();
        });
  }

  /** A run that loses its worker for each of the reasons in turn, and succeeds then. */
  private void losingFor(ModelVersion model, Blame... blames) {
    Iterator<Blame> left = List.of(blames).iterator();
    run(
        model,
        () -> {
          attempts.incrementAndGet();
          if (left.hasNext()) {
            throw lost(left.next());
          }
        });
  }

  @Test
  void attempt_lostForOthersTimeAndAgain_isNoSuspectAndDoneInTheEnd() {
    losingFor(MODEL, Blame.OTHERS, Blame.OTHERS, Blame.ALONE);
    assertEquals(4, attempts.get());
    StatusException error =
        assertThrows(
            StatusException.class,
            () -> losingFor(MODEL, Collections.nCopies(9, Blame.OTHERS).toArray(Blame[]::new)));
    assertEquals(Status.UNAVAILABLE, error.status());
    assertEquals(4 + 5, attempts.get());
    assertTrue(retries.quarantine(MODEL).isEmpty());
  }

  @Test
  void attempt_lostTwiceAmongOthers_failsWithoutQuarantine() {
    StatusException error =
        assertThrows(StatusException.class, () -> losingFor(MODEL, Blame.UNKNOWN, Blame.UNKNOWN));
    assertTrue(error.toString().contains("interrupted again"), error.toString());
    assertInstanceOf(WorkerLostException.class, error.getCause());
    assertTrue(retries.quarantine(MODEL).isEmpty());
    losingFor(MODEL);
  }

  @Test
  void attempt_lostAmongOthersAndThenAlone_isQuarantined() {
    assertThrows(StatusException.class, () -> losingFor(MODEL, Blame.UNKNOWN, Blame.ALONE));
    assertTrue(retries.quarantine(MODEL).isPresent());
  }

  @Test
  void attempt_deadlineHasPassed_isNotDoneAgainAndSaysSo() {
    StatusException error =
        assertThrows(
            StatusException.class,
            () ->
                retries.run(
                    MODEL,
                    Priority.ONLINE,
                    () -> true,
                    RunControl.NONE,
                    () -> {
                      attempts.incrementAndGet();
                      throw lost(Blame.ALONE);
                    }));
    assertEquals(Status.UNAVAILABLE, error.status());
    assertTrue(error.toString().contains("deadline"), error.toString());
    assertInstanceOf(WorkerLostException.class, error.getCause());
    assertEquals(1, attempts.get());
  }
}
