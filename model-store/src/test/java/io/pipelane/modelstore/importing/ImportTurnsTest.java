package io.pipelane.modelstore.importing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ImportTurnsTest {
  @Test
  void noMoreRunAtOnce_thanMay() throws Exception {
    ImportTurns turns = new ImportTurns(2);
    AtomicInteger running = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    CountDownLatch two = new CountDownLatch(2);
    List<Future<?>> all = new ArrayList<>();
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      for (int i = 0; i < 20; i++) {
        all.add(
            threads.submit(
                () -> {
                  turns.take(
                      () -> {
                        most.accumulateAndGet(running.incrementAndGet(), Math::max);
                        two.countDown();
                        await(two);
                        running.decrementAndGet();
                      });
                  return null;
                }));
      }
      for (Future<?> each : all) {
        each.get();
      }
    }
    assertEquals(2, most.get());
  }

  @Test
  void turnThatFails_isGivenOn() throws Exception {
    ImportTurns turns = new ImportTurns(1);
    assertThrows(
        IOException.class,
        () ->
            turns.take(
                () -> {
                  throw new IOException("no disk");
                }));
    AtomicInteger done = new AtomicInteger();
    turns.take(done::incrementAndGet);
    assertEquals(1, done.get());
  }

  @Test
  void interruptedThread_givesUp() throws Exception {
    ImportTurns turns = new ImportTurns(1);
    turns.take(
        () -> {
          Thread.currentThread().interrupt();
          StatusException refused = assertThrows(StatusException.class, () -> turns.take(() -> {}));
          assertEquals(Status.CANCELLED, refused.status());
          assertTrue(Thread.interrupted());
        });
  }

  private static void await(CountDownLatch latch) throws IOException {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }
}
