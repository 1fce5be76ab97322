package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Residency: transfers, eviction, and who waits for what. */
class MemoryDaemonTest extends DaemonTest {
  @Test
  void acquire_coldModel_segmentsAreThereAsTheirGroupsArrive() {
    ImportedModel model = registered("a", 1, 2, 1);
    Lease lease = daemon.acquire(model.version());
    assertEquals(3, device.pending());
    assertTrue(entry(model).arriving());
    for (int segment = 0; segment < 3; segment++) {
      device.completeNext();
      lease.await(segment);
      requireContent(model, segment);
    }
    assertFalse(entry(model).arriving());
    assertEquals(0, lease.stallNanos());
    lease.close();
    assertEquals(4, residentPages(model), "it stays until its memory is wanted");
  }

  @Test
  void acquire_manyAtOnce_shareOneTransfer() throws Exception {
    ImportedModel model = registered("a", 2, 2);
    CountDownLatch acquired = new CountDownLatch(8);
    List<Future<?>> runs = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      runs.add(
          threads.submit(
              () -> {
                try (Lease lease = daemon.acquire(model.version())) {
                  acquired.countDown();
                  requireContent(lease, model);
                }
              }));
    }
    acquired.await();
    assertEquals(8, entry(model).leases());
    assertEquals(2, device.pending());
    device.completeAll();
    for (Future<?> run : runs) {
      run.get();
    }
    assertEquals(1, models.opened(model.version()));
    assertEquals(1, daemon.counters().loads());
  }

  @Test
  void acquire_memoryIsFull_leastLikelyLosesItsTailAndOnlyThatComesBack() {
    ImportedModel often = registered("often", 4);
    ImportedModel seldom = registered("seldom", 1, 1, 1, 1);
    use(seldom);
    use(often);
    use(often);
    ImportedModel third = registered("third", 4);
    use(third);
    assertEquals(4, residentPages(often));
    assertEquals(2, residentPages(seldom), "no more than is needed is taken");
    long loadedBefore = daemon.counters().bytesLoaded();
    use(often);
    use(third);
    Lease lease = daemon.acquire(seldom.version());
    assertEquals(2, device.pending(), "the prefix is there already");
    device.completeAll();
    requireContent(lease, seldom);
    lease.close();
    assertEquals(2 * PAGE, daemon.counters().bytesLoaded() - loadedBefore);
  }

  @Test
  void acquire_usesDecay_longAgoCountsForLess() {
    ImportedModel once = registered("once", 5);
    ImportedModel lately = registered("lately", 5);
    use(once);
    use(once);
    use(once);
    clock.addAndGet(java.time.Duration.ofMinutes(6).toNanos());
    use(lately);
    use(registered("third", 5));
    assertEquals(0, residentPages(once));
    assertEquals(5, residentPages(lately));
  }

  @Test
  void acquire_everythingElseIsLeased_waitsForALease() throws Exception {
    ImportedModel leased = registered("leased", 6);
    ImportedModel wanted = registered("wanted", 6);
    Lease lease = daemon.acquire(leased.version());
    device.completeAll();
    Future<?> run = threads.submit(() -> daemon.acquire(wanted.version()).close());
    awaitWaits(2);
    daemon.ledger().verify();
    assertEquals(6, residentPages(leased));
    assertEquals(0, device.pending());
    lease.close();
    run.get();
    assertEquals(6, residentPages(wanted));
  }

  @Test
  void acquire_everythingElseIsArriving_waitsForTheArrival() throws Exception {
    ImportedModel arriving = registered("arriving", 3, 3);
    ImportedModel wanted = registered("wanted", 6);
    daemon.acquire(arriving.version()).close();
    Future<?> run = threads.submit(() -> daemon.acquire(wanted.version()).close());
    awaitWaits(2);
    assertEquals(6, residentPages(arriving), "pages under a copy are not taken");
    device.completeNext();
    assertEquals(6, residentPages(arriving));
    device.completeNext();
    run.get();
    assertEquals(6, residentPages(wanted));
  }

  @Test
  void acquire_largeModelWaits_smallOnesDoNotOvertakeIt() throws Exception {
    ImportedModel small = registered("small", 5);
    ImportedModel other = registered("other", 1);
    ImportedModel large = registered("large", 10);
    use(other);
    Lease held = daemon.acquire(small.version());
    device.completeAll();
    CountDownLatch release = new CountDownLatch(1);
    Future<?> largeRun =
        threads.submit(
            () -> {
              try (Lease lease = daemon.acquire(large.version())) {
                release.await();
                return lease.range();
              }
            });
    awaitWaits(3);
    Future<?> smallRun = threads.submit(() -> daemon.acquire(small.version()).close());
    awaitWaits(4);
    Future<?> otherRun = threads.submit(() -> daemon.acquire(other.version()).close());
    awaitWaits(5);
    assertEquals(1, entry(small).leases(), "resident, and still it waits in line");
    held.close();
    await(() -> entry(large).leases() == 1);
    assertEquals(0, entry(small).leases() + entry(other).leases());
    device.completeAll();
    release.countDown();
    largeRun.get();
    smallRun.get();
    otherRun.get();
  }

  @Test
  void register_modelThatCanNeverFit_namesBothNumbers() {
    StatusException error = assertThrows(StatusException.class, () -> registered("huge", PAGES, 1));
    assertEquals(Status.INSUFFICIENT_MEMORY, error.status());
    assertTrue(error.toString().contains("704"), error.toString());
    assertTrue(error.toString().contains("640"), error.toString());
    registered("exact", PAGES);
    assertThrows(IllegalStateException.class, () -> registered("exact", 1));
  }

  @Test
  void acquire_modelWithoutWeights_needsNothing() {
    ImportedModel model = register(FakeModels.ofBytes("empty", 0));
    use(model);
    assertEquals(0, models.opened(model.version()));
  }

  @Test
  void acquire_unknownModel_isNotFound() {
    ImportedModel unknown = FakeModels.model("unknown", 1);
    StatusException error =
        assertThrows(StatusException.class, () -> daemon.acquire(unknown.version()));
    assertEquals(Status.NOT_FOUND, error.status());
    assertThrows(StatusException.class, () -> daemon.deregister(unknown.version()));
  }

  @Test
  void deregister_whileLeased_waitsAndRefusesNewLeases() throws Exception {
    ImportedModel model = registered("a", 2, 2);
    Lease lease = daemon.acquire(model.version());
    device.completeAll();
    CountDownLatch begun = new CountDownLatch(1);
    Future<?> gone =
        threads.submit(
            () -> {
              begun.countDown();
              daemon.deregister(model.version());
            });
    begun.await();
    await(() -> isOutOfService(model));
    requireContent(lease, model);
    assertEquals(4, residentPages(model));
    assertFalse(gone.isDone());
    lease.close();
    gone.get();
    assertEquals(0, daemon.ledger().lentBytes());
  }

  /** They need not wait for the run that the owner waits for. */
  @Test
  void deregister_whileLeased_refusesThoseThatWaitAtOnce() throws Exception {
    ImportedModel model = registered("a", 2);
    ImportedModel large = registered("large", PAGES);
    Lease lease = daemon.acquire(model.version());
    device.completeAll();
    Future<?> first = threads.submit(() -> daemon.acquire(large.version()).close());
    awaitWaits(2);
    Future<?> behind = threads.submit(() -> daemon.acquire(model.version()).close());
    awaitWaits(3);
    Future<?> gone = threads.submit(() -> daemon.deregister(model.version()));
    Exception refusal = assertThrows(ExecutionException.class, behind::get);
    assertEquals(
        Status.NOT_FOUND, assertInstanceOf(StatusException.class, refusal.getCause()).status());
    assertFalse(gone.isDone());
    lease.close();
    gone.get();
    first.get();
  }

  /** That may be an offline run, which is held while online work is in flight. */
  @Test
  void evict_runBeginsWhileItWaitsForCopies_saysThatItWaits() throws Exception {
    ImportedModel model = registered("a", 2);
    daemon.acquire(model.version()).close();
    CountDownLatch told = new CountDownLatch(1);
    Thread evicting =
        Thread.ofPlatform()
            .start(() -> daemon.evictions().evict(model.version(), 0, told::countDown));
    await(() -> evicting.getState() == Thread.State.WAITING);
    Lease lease = daemon.acquire(model.version());
    device.completeAll();
    told.await();
    lease.close();
    evicting.join();
    assertEquals(0, residentPages(model));
  }

  @Test
  void deregister_whileArriving_waitsForTheCopies() throws Exception {
    ImportedModel model = registered("a", 2, 2);
    daemon.acquire(model.version()).close();
    Future<?> gone = threads.submit(() -> daemon.deregister(model.version()));
    await(() -> isOutOfService(model));
    device.completeNext();
    assertFalse(gone.isDone());
    device.completeNext();
    gone.get();
  }

  private boolean isOutOfService(ImportedModel model) {
    try {
      daemon.acquire(model.version()).close();
      return false;
    } catch (StatusException e) {
      return true;
    }
  }

  /** A waiter must not mistake the model that is registered anew for the one it waited for. */
  @Test
  void reregister_whileOneWaitsForTheModel_waiterIsRefusedOrRight() throws Exception {
    ImportedModel leased = registered("leased", 6);
    ImportedModel wanted = registered("wanted", 6);
    for (int round = 0; round < 500; round++) {
      Lease lease = daemon.acquire(leased.version());
      device.completeAll();
      long waits = daemon.counters().waits();
      Future<?> run = threads.submit(() -> daemon.acquire(wanted.version()).close());
      awaitWaits(waits + 1);
      daemon.deregister(wanted.version());
      register(wanted);
      lease.close();
      try {
        run.get();
      } catch (ExecutionException e) {
        assertEquals(
            Status.NOT_FOUND, assertThrows(StatusException.class, () -> rethrow(e)).status());
      }
      daemon.ledger().verify();
      device.completeAll();
    }
  }

  private static void rethrow(ExecutionException e) {
    if (e.getCause() instanceof RuntimeException cause) {
      throw cause;
    }
    throw new AssertionError(e);
  }

  @Test
  void takeOut_whileARunHoldsIt_doesNotWaitAndItGoesWithTheRun() {
    ImportedModel model = registered("a", 2);
    Lease lease = daemon.acquire(model.version());
    device.completeAll();
    daemon.parts().takeOut(model.version());
    assertEquals(2, residentPages(model));
    lease.close();
    assertEquals(0, residentPages(model));
    Lease again = daemon.acquire(model.version());
    device.completeAll();
    daemon.parts().takeOut(model.version());
    Lease later = daemon.acquire(model.version());
    again.close();
    later.close();
    assertEquals(2, residentPages(model), "it was asked for again");
  }
}
