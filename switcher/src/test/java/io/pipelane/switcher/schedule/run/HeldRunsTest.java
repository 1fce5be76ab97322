package io.pipelane.switcher.schedule.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HeldRunsTest {
  private static final class End implements ResultHandler {
    final CompletableFuture<StatusException> error = new CompletableFuture<>();

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      throw new AssertionError("nothing is run here");
    }

    @Override
    public void completed(InferenceTimings timings) {
      throw new AssertionError("nothing is run here");
    }

    @Override
    public void failed(StatusException failure) {
      error.complete(failure);
    }
  }

  /** Before the run itself begins, too: whoever holds the weights would hold them for ever. */
  @Test
  void submit_memoryIsShortForTheRun_itsCallerIsTold() {
    OutOfMemoryError shortage = new OutOfMemoryError("on demand");
    HeldRuns runs = new HeldRuns(1);
    for (int i = 0; i < 2; i++) {
      End end = new End();
      runs.submit(
          new Answer(new ModelVersion("m", 1), end),
          () -> {
            throw shortage;
          });
      StatusException error = end.error.join();
      assertEquals(Status.INTERNAL, error.status());
      assertSame(shortage, error.getCause());
    }
    assertTrue(runs.join(Duration.ofSeconds(30)));
  }

  /** A run that tells its caller that it does not end, and then stays until a process is gone. */
  private static End stuckRun(HeldRuns runs, CountDownLatch gone) {
    End end = new End();
    Answer answer = new Answer(new ModelVersion("m", 1), end);
    runs.submit(
        answer,
        () -> {
          answer
              .toCaller(
                  () -> {
                    throw new AssertionError("it is not answered");
                  })
              .failed(StatusException.unavailable("its worker stays", Duration.ofSeconds(1)));
          try {
            gone.await();
          } catch (InterruptedException e) {
            throw new AssertionError("nobody interrupts a run", e);
          }
        });
    return end;
  }

  @Test
  void submit_allThreadsAreStuck_isRefusedAsWhatWaitsIs_untilAProcessIsGone() throws Exception {
    HeldRuns runs = new HeldRuns(2);
    CountDownLatch started = new CountDownLatch(1);
    CountDownLatch gone = new CountDownLatch(1);
    End first = stuckRun(runs, gone);
    assertTrue(first.error.join().toString().contains("its worker stays"));
    runs.submit(
        new Answer(new ModelVersion("m", 1), new End()),
        () -> {
          try {
            started.await();
          } catch (InterruptedException e) {
            throw new AssertionError("nobody interrupts a run", e);
          }
        });
    End second = stuckRun(runs, gone); // Waits for the one before it.
    End waiting = stuckRun(runs, gone);
    started.countDown();
    assertTrue(second.error.join().toString().contains("its worker stays"));
    StatusException refused = waiting.error.join();
    assertEquals(Status.UNAVAILABLE, refused.status());
    assertTrue(refused.toString().contains("no thread is left"), refused.toString());
    refused = assertThrows(StatusException.class, () -> stuckRun(runs, gone));
    assertEquals(Status.UNAVAILABLE, refused.status());
    assertNotNull(refused.retryAfter());
    gone.countDown();
    CountDownLatch ran = new CountDownLatch(1);
    while (!isTaken(runs, ran::countDown)) {
      Thread.onSpinWait();
    }
    ran.await();
    assertTrue(runs.join(Duration.ofSeconds(30)));
  }

  private static boolean isTaken(HeldRuns runs, Runnable run) {
    try {
      runs.submit(new Answer(new ModelVersion("m", 1), new End()), run);
      return true;
    } catch (StatusException e) {
      return false;
    }
  }
}
