package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class InServiceTest {
  private final InService service = new InService();
  private final AtomicInteger told = new AtomicInteger();

  @Test
  void awaitNone_somethingIsBuilt_saysSoOnceAndWaits() throws Exception {
    service.open();
    CountDownLatch building = new CountDownLatch(1);
    CountDownLatch built = new CountDownLatch(1);
    CountDownLatch said = new CountDownLatch(1);
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Future<Boolean> session =
          threads.submit(
              () ->
                  service.build(
                      () -> {
                        building.countDown();
                        Latches.await(built);
                      }));
      building.await();
      assertTrue(service.leave());
      Future<?> leaving =
          threads.submit(
              () ->
                  service.awaitNone(
                      System.nanoTime(),
                      () -> {
                        told.incrementAndGet();
                        said.countDown();
                      }));
      said.await();
      assertFalse(leaving.isDone());
      built.countDown();
      leaving.get();
      assertTrue(session.get());
    }
    assertEquals(1, told.get());
  }

  @Test
  void awaitNone_nothingIsBuilt_saysNothing() {
    service.open();
    assertTrue(service.leave());
    service.awaitNone(System.nanoTime(), told::incrementAndGet);
    assertEquals(0, told.get());
  }
}
