package io.pipelane.switcher.schedule.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.policy.FirstComeFirstServed;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StuckThreadsTest {
  private final StuckThreads stuck =
      new StuckThreads(
          3, new RequestQueue(new FirstComeFirstServed(), new Estimates(_ -> 0), 1, 1, 1, () -> 0));

  /** Whether the others wait already when it gets stuck, or come later, is the same. */
  @Test
  void awaitRoom_behindARunThatIsStuck_isRefusedUntilThatIsOver() throws Exception {
    CountDownLatch hasIt = new CountDownLatch(1);
    CountDownLatch getsStuck = new CountDownLatch(1);
    CountDownLatch isStuck = new CountDownLatch(1);
    CountDownLatch gone = new CountDownLatch(1);
    try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
      Future<?> first =
          threads.submit(
              () -> {
                awaitRoom();
                hasIt.countDown();
                getsStuck.await();
                stuck.count(StatusException.unavailable("stays", Duration.ofSeconds(1)));
                isStuck.countDown();
                gone.await();
                stuck.leaveRoom();
                stuck.goesOn();
                return null;
              });
      hasIt.await();
      Future<?> waits = threads.submit(this::awaitRoom);
      getsStuck.countDown();
      assertRefused(waits);
      isStuck.await();
      assertRefused(threads.submit(this::awaitRoom));
      gone.countDown();
      first.get();
      threads
          .submit(
              () -> {
                awaitRoom();
                stuck.leaveRoom();
              })
          .get();
    }
  }

  private void awaitRoom() {
    stuck.awaitRoom(new StatusException(Status.INSUFFICIENT_MEMORY, "it needs more than its lane"));
  }

  private static void assertRefused(Future<?> waits) {
    Throwable cause = assertThrows(ExecutionException.class, waits::get).getCause();
    assertEquals(Status.UNAVAILABLE, assertInstanceOf(StatusException.class, cause).status());
  }
}
