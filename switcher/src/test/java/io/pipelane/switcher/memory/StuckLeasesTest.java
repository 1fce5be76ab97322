package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.residency.ResidencySettings;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/**
 * Weights that runs keep whose processes do not end, on a device of ten pages, of which offline
 * work may hold eight.
 */
class StuckLeasesTest extends DaemonTest {
  private static final String REASON = "its worker stays";

  @Override
  ResidencySettings residency() {
    ResidencySettings all = ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL);
    return new ResidencySettings(all.config(), all.profiles(), all.costs(), 0.8, false);
  }

  private Future<Lease> waiting(ImportedModel model, Priority priority) {
    long waits = daemon.counters().waits();
    Future<Lease> lease =
        threads.submit(() -> daemon.acquire(model.version(), priority, RunControl.NONE));
    awaitWaits(waits + 1);
    return lease;
  }

  private static void requireRefused(Future<?> waiting) {
    ExecutionException failed = assertThrows(ExecutionException.class, waiting::get);
    StatusException refusal = assertInstanceOf(StatusException.class, failed.getCause());
    assertEquals(Status.UNAVAILABLE, refusal.status());
    assertNotNull(refusal.retryAfter());
    assertTrue(refusal.toString().contains(REASON), refusal.toString());
  }

  private Lease brought(Future<Lease> lease) throws Exception {
    while (!lease.isDone()) {
      device.completeAll();
      Thread.onSpinWait();
    }
    device.completeAll();
    return lease.get();
  }

  /** Otherwise it, and all that come after it, would wait for the process. */
  @Test
  void acquire_needsPagesThatAStuckRunKeeps_isRefusedAndOthersGoOn() throws Exception {
    ImportedModel small = registered("small", 2);
    use(small);
    ImportedModel kept = registered("kept", 7);
    use(kept);
    ImportedModel large = registered("large", 4);
    try (Lease lease = daemon.acquire(kept.version())) {
      Future<Lease> first = waiting(large, Priority.ONLINE);
      Future<Lease> second = waiting(small, Priority.ONLINE);
      lease.markStuck(REASON);
      requireRefused(first);
      brought(second).close();
      requireRefused(threads.submit(() -> daemon.acquire(large.version())));
      requireRefused(
          threads.submit(() -> daemon.parts().acquire(List.of(large.version()), () -> {})));
      requireRefused(
          threads.submit(() -> daemon.acquire(large.version(), Priority.OFFLINE, RunControl.NONE)));
      use(small);
      use(registered("other", 3));
      use(kept);
    }
    use(large);
  }

  @Test
  void acquire_hasRoomBesideAStuckRunOnceOthersEnd_waitsForThem() throws Exception {
    ImportedModel kept = registered("kept", 4);
    use(kept);
    ImportedModel other = registered("other", 4);
    use(other);
    try (Lease stuck = daemon.acquire(kept.version())) {
      stuck.markStuck(REASON);
      Lease runs = daemon.acquire(other.version());
      Future<Lease> waits = waiting(registered("waits", 6), Priority.ONLINE);
      assertFalse(waits.isDone());
      runs.close();
      brought(waits).close();
    }
  }

  @Test
  void acquire_onlyRangeOfItsStructureIsKept_isRefused() throws Exception {
    ImportedModel one = variant("one");
    ImportedModel two = variant("two");
    use(one);
    try (Lease lease = daemon.acquire(one.version())) {
      Future<Lease> first = waiting(two, Priority.ONLINE);
      lease.markStuck(REASON);
      requireRefused(first);
      use(one);
    }
    use(two);
  }

  /** A page more than offline work may hold beside it; there is room enough for others. */
  @Test
  void acquire_offlineBesideAStuckRunOfItsClass_isRefusedWhatIsBeyondTheQuota() throws Exception {
    ImportedModel kept = registered("kept", 4);
    Lease lease =
        brought(
            threads.submit(
                () -> daemon.acquire(kept.version(), Priority.OFFLINE, RunControl.NONE)));
    ImportedModel large = registered("large", 5);
    Future<Lease> first = waiting(large, Priority.OFFLINE);
    lease.markStuck(REASON);
    requireRefused(first);
    brought(waiting(registered("other", 4), Priority.OFFLINE)).close();
    use(large);
    lease.close();
  }

  /** It would wait before all others. */
  @Test
  void await_lanesLackWhatAStuckRunKeeps_isRefused() throws Exception {
    device.vacatePages();
    ImportedModel kept = registered("kept", 4);
    use(kept);
    ImportedModel runs = registered("runs", 3);
    use(runs);
    try (Lease held = daemon.acquire(runs.version());
        Lease stuck = daemon.acquire(kept.version())) {
      Future<Long> first =
          threads.submit(() -> daemon.loans().await(() -> 4L * PAGE, held, () -> {}));
      stuck.markStuck(REASON);
      requireRefused(first);
      long lent = daemon.loans().await(() -> 3L * PAGE, held, () -> {});
      assertEquals(3L * PAGE, lent);
      daemon.loans().giveBack(lent);
    }
  }
}
