package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Variants whose pages come to lie in their range only after they were put there. */
class LateMappingTest extends DaemonTest {
  private final ImportedModel one = variant("one");
  private final ImportedModel two = variant("two");

  /** Both variants are resident, and the one that is used next has to be mapped again. */
  private void bothResident() {
    use(one);
    use(two);
    device.mapping.beLate();
  }

  @Test
  void acquire_remounted_isALeaseAtOnceWhoseFirstSegmentWaits() {
    bothResident();
    try (Lease lease = daemon.acquire(one.version())) {
      assertTrue(entry(one).arriving());
      assertEquals(2, lease.before(0).size(), "a page, then two");
      assertEquals(1, lease.before(1).size(), "each arrival is told once");
      lease.begin();
      assertEquals(2, lease.before(0).size(), "another stream has to wait for it as well");
      device.mapping.complete(null);
      requireContent(lease, one);
    }
    assertFalse(entry(one).arriving());
    assertEquals(2, daemon.counters().loads());
    assertEquals(0, device.pending());
  }

  @Test
  void await_theFirstSegmentsPagesLieThere_itRunsWhileTheOthersAreMapped() {
    bothResident();
    try (Lease lease = daemon.acquire(one.version())) {
      device.mapping.completeStep(null);
      device.mapping.completeStep(null);
      lease.await(0);
      requireContent(one, 0);
      assertTrue(entry(one).arriving());
      device.mapping.completeStep(null);
      requireContent(lease, one);
    }
    assertFalse(entry(one).arriving());
  }

  @Test
  void acquire_whileTheMappingIsUnderWay_waitsForTheSame() {
    bothResident();
    try (Lease first = daemon.acquire(one.version());
        Lease second = daemon.acquire(one.version())) {
      assertEquals(1, device.mapping.pending());
      assertEquals(first.before(0), second.before(0));
      device.mapping.complete(null);
      requireContent(second, one);
    }
  }

  @Test
  void evictOnceIdle_whileTheMappingIsUnderWay_theModelGoesWhenItIsDone() {
    bothResident();
    daemon.acquire(one.version()).close();
    daemon.evictions().evictOnceIdle(one.version());
    assertEquals(4, residentPages(one), "it is being mapped");
    device.mapping.complete(null);
    assertEquals(0, residentPages(one));
  }

  @Test
  void mapping_fails_theRunFailsWithItsReasonAndTheNextIsAnswered() {
    bothResident();
    Lease lease = daemon.acquire(one.version());
    device.mapping.complete(failure());
    StatusException error = assertThrows(StatusException.class, lease::awaitAll);
    assertTrue(error.toString().contains("CUDA_ERROR_OUT_OF_MEMORY"), error.toString());
    assertTrue(lease.failed());
    lease.close();
    assertEquals(0, residentPages(one));
    assertEquals(4, residentPages(two));
    assertEquals(1, daemon.counters().failedLoads());
    use(one);
    assertEquals(3, daemon.counters().loads());
  }

  @Test
  void mapping_failsAfterTheLastRunHasGone_itsPagesAreTakenBackAsWell() {
    bothResident();
    daemon.acquire(one.version()).close();
    device.mapping.complete(failure());
    use(one);
    assertEquals(1, daemon.counters().failedLoads());
    assertEquals(3, daemon.counters().loads());
  }

  @Test
  void mapping_underWay_isNotTouchedByEviction() throws Exception {
    bothResident();
    ImportedModel large = registered("large", 8);
    daemon.acquire(one.version()).close();
    Future<?> waiting = acquire(large);
    await(() -> residentPages(two) == 0);
    assertEquals(4, residentPages(one));
    assertEquals(0, device.pending());
    device.mapping.complete(null);
    await(() -> device.pending() > 0);
    device.completeAll();
    waiting.get();
    assertEquals(2, residentPages(one));
  }

  @Test
  void mapping_underWay_keepsTheRangeFromOtherVariants() throws Exception {
    bothResident();
    daemon.acquire(one.version()).close();
    long waits = daemon.counters().waits();
    Future<?> waiting = acquire(two);
    awaitWaits(waits + 1);
    assertEquals(1, device.mapping.pending());
    device.mapping.complete(null);
    await(() -> device.mapping.pending() == 1);
    assertFalse(waiting.isDone());
    device.mapping.complete(null);
    waiting.get();
    assertEquals(2, daemon.counters().loads());
  }

  @Test
  void evict_whileTheMappingIsUnderWay_waitsForIt() throws Exception {
    bothResident();
    daemon.acquire(one.version()).close();
    Future<?> eviction = threads.submit(() -> daemon.evictions().evict(one.version(), 0));
    assertEquals(4, residentPages(one));
    device.mapping.complete(null);
    eviction.get();
    assertEquals(0, residentPages(one));
  }

  @Test
  void acquire_partlyResident_bringsTheRestInBehindTheMapping() {
    bothResident();
    daemon.evictions().evict(one.version(), 2 * PAGE);
    try (Lease lease = daemon.acquire(one.version())) {
      assertEquals(1, device.pending(), "the second segment");
      assertEquals(2, lease.before(0).size(), "a page, then the other");
      assertEquals(1, lease.before(1).size());
      device.completeAll();
      assertTrue(entry(one).arriving(), "the mapping is still to come");
      device.mapping.complete(null);
      requireContent(lease, one);
    }
    assertFalse(entry(one).arriving());
  }

  @Test
  void mapping_failsUnderATransfer_everythingIsBroughtInAnew() {
    bothResident();
    daemon.evictions().evict(one.version(), 2 * PAGE);
    Lease lease = daemon.acquire(one.version());
    device.mapping.complete(failure());
    assertThrows(StatusException.class, () -> lease.await(0));
    lease.close();
    assertEquals(4, residentPages(one), "a copy into them is under way");
    device.completeAll();
    assertEquals(0, residentPages(one));
    use(one);
    assertEquals(4, residentPages(one));
  }

  @Test
  void mapping_thatHasFailedWhenItIsAskedFor_isMendedByTheSameRun() {
    use(one);
    use(two);
    device.mapping.failNext(failure());
    use(one);
    assertEquals(1, daemon.counters().failedLoads());
    assertEquals(3, daemon.counters().loads());
  }

  private static StatusException failure() {
    return new StatusException(Status.INTERNAL, "CUDA_ERROR_OUT_OF_MEMORY");
  }

  private Future<?> acquire(ImportedModel model) {
    return threads.submit(
        () -> {
          try (Lease lease = daemon.acquire(model.version())) {
            requireContent(lease, model);
          }
        });
  }
}
