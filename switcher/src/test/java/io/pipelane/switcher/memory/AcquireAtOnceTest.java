package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.account.Ledger;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Leases for threads that must not wait for the daemon's lock, such as event loops. */
class AcquireAtOnceTest extends DaemonTest {
  private final List<Runnable> beside = new ArrayList<>();

  private @Nullable Lease atOnce(ImportedModel model) {
    return daemon.tryAcquire(model.version(), clock.get(), beside::add);
  }

  /** Holds the lock until the latch opens. */
  private static ToldRun holding(CountDownLatch held, CountDownLatch until) {
    return ToldRun.leaving(
        () -> {
          held.countDown();
          try {
            until.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        });
  }

  @Test
  void somebodyHasTheLock_waitsNeitherToAcquireNorToRelease() throws Exception {
    ImportedModel model = registered("m", 6);
    use(model);
    ImportedModel large = registered("large", 8);
    Lease lease = atOnce(model);
    assertNotNull(lease);
    CountDownLatch held = new CountDownLatch(1);
    CountDownLatch until = new CountDownLatch(1);
    Future<Lease> other =
        threads.submit(
            () -> daemon.acquire(large.version(), Priority.ONLINE, holding(held, until)));
    held.await();
    assertNull(atOnce(model));
    lease.close();
    until.countDown();
    assertEquals(1, daemon.ledger().entries().stream().mapToInt(Ledger.Entry::leases).sum());
    assertFalse(other.isDone(), "the lease is open still");
    assertEquals(1, beside.size());
    beside.removeFirst().run();
    await(() -> device.pending() > 0);
    device.completeAll();
    other.get().close();
  }

  /** To give pages back takes a while, which is not for the thread that releases. */
  @Test
  void modelIsToLeaveTheDevice_isReleasedBeside() {
    ImportedModel model = registered("m", 2);
    use(model);
    Lease lease = atOnce(model);
    assertNotNull(lease);
    daemon.evictions().evictOnceIdle(model.version());
    lease.close();
    assertEquals(2, residentPages(model));
    beside.removeFirst().run();
    assertEquals(0, residentPages(model));
  }
}
