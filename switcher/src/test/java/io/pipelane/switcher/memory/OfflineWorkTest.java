package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.NeverFits;
import io.pipelane.switcher.memory.account.TransferCounters;
import io.pipelane.switcher.residency.ResidencySettings;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Offline work on a device of ten pages, of which it may hold four. */
class OfflineWorkTest extends DaemonTest {
  @Override
  ResidencySettings residency() {
    ResidencySettings all = ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL);
    return new ResidencySettings(all.config(), all.profiles(), all.costs(), 0.4, false);
  }

  private Future<Lease> offline(ImportedModel model) {
    return threads.submit(() -> daemon.acquire(model.version(), Priority.OFFLINE, RunControl.NONE));
  }

  /** Completes copies until the run has all it needs. */
  private Lease brought(Future<Lease> lease) throws Exception {
    while (!lease.isDone()) {
      device.completeAll();
      Thread.onSpinWait();
    }
    device.completeAll();
    return lease.get();
  }

  @Test
  void acquire_offline_comesPageByPageAndIsCounted() throws Exception {
    ImportedModel model = registered("offline", 2, 2);
    Lease lease = brought(offline(model));
    requireContent(lease, model);
    lease.close();
    TransferCounters counters = daemon.counters();
    assertEquals(new TransferCounters.Offline(1, 4 * PAGE, 0), counters.offline());
    assertEquals(4, counters.copies(), "a page each");
  }

  @Test
  void makeRoom_offlineIsUsedMore_givesWayFirst() throws Exception {
    ImportedModel online = registered("online", 3);
    use(online);
    ImportedModel offline = registered("offline", 4);
    for (int i = 0; i < 100; i++) {
      brought(offline(offline)).close();
    }
    use(registered("other", 7));
    assertEquals(3, residentPages(online));
    assertEquals(0, residentPages(offline));
    assertEquals(4, daemon.counters().offline().pagesTakenBack());
  }

  @Test
  void makeRoom_offlineWorkUsesAnOnlineModel_itStaysOnline() throws Exception {
    ImportedModel shared = registered("shared", 3);
    use(shared);
    brought(offline(shared)).close();
    brought(offline(registered("offline", 4))).close();
    use(registered("other", 7));
    assertEquals(3, residentPages(shared));
  }

  /** What online work uses, and what a run holds, stays. */
  @Test
  void takeBackOffline_leavesWhatOnlineWorkUsesAndWhatIsHeld() throws Exception {
    ImportedModel online = registered("online", 3);
    use(online);
    ImportedModel idle = registered("idle", 2);
    brought(offline(idle)).close();
    ImportedModel held = registered("held", 1);
    Lease lease = brought(offline(held));
    assertEquals(2 * PAGE, daemon.evictions().takeBackOffline());
    assertEquals(3, residentPages(online));
    assertEquals(0, residentPages(idle));
    assertEquals(1, residentPages(held));
    requireContent(lease, held);
    lease.close();
    assertEquals(PAGE, daemon.evictions().takeBackOffline());
  }

  @Test
  void wish_forOfflineWork_leavesTheModelToIt() throws Exception {
    ImportedModel model = registered("offline", 2);
    brought(offline(model)).close();
    daemon.idleLink().wish(model.version(), Optional.empty(), Priority.OFFLINE);
    assertEquals(2 * PAGE, daemon.evictions().takeBackOffline());
    daemon.idleLink().wish(model.version(), Optional.empty(), Priority.ONLINE);
    use(model);
    assertEquals(0, daemon.evictions().takeBackOffline(), "online work wants it too");
  }

  @Test
  void forgetUses_ofAnOfflineModelThatWasWarmedUp_leavesItToOfflineWork() {
    ImportedModel model = registered("offline", 2);
    use(model);
    daemon.forgetUses(model.version(), Optional.of(Priority.OFFLINE));
    assertEquals(2 * PAGE, daemon.evictions().takeBackOffline());
  }

  @Test
  void acquire_offlineModelLargerThanTheQuota_isRefusedWithBothNumbers() {
    ImportedModel large = registered("large", 5);
    StatusException refusal =
        assertThrows(
            StatusException.class,
            () -> daemon.acquire(large.version(), Priority.OFFLINE, RunControl.NONE));
    assertEquals(Status.INSUFFICIENT_MEMORY, refusal.status());
    assertTrue(String.valueOf(refusal.getMessage()).contains("sharing.offline-memory-percent"));
    assertTrue(NeverFits.isBehind(refusal.saying("in other words")));
    use(large);
    assertEquals(5, residentPages(large), "online it is served");
  }

  /** The quota is not for it when it comes, and is less than it needs in the end. */
  @Test
  void acquire_modelBecomesOfflineWorksWhileItsRunWaits_refusesItAsTheNextOne() throws Exception {
    ImportedModel large = registered("large", 5);
    use(large);
    daemon.evictions().evict(large.version(), 0);
    ImportedModel held = registered("held", 7);
    use(held);
    Lease holding = daemon.acquire(held.version());
    long waits = daemon.counters().waits();
    Future<Lease> first = offline(large);
    awaitWaits(waits + 1);
    clock.addAndGet(4 * residency().config().halfLife().toNanos() + 1);
    Future<Lease> second = offline(large);
    requireTooLarge(second);
    holding.close();
    requireTooLarge(first);
  }

  private static void requireTooLarge(Future<Lease> lease) {
    ExecutionException refused = assertThrows(ExecutionException.class, lease::get);
    StatusException refusal = assertInstanceOf(StatusException.class, refused.getCause());
    assertEquals(Status.INSUFFICIENT_MEMORY, refusal.status());
  }

  @Test
  void acquire_otherOfflineRunsHoldTheQuota_waitsForThem() throws Exception {
    Lease first = brought(offline(registered("first", 3)));
    Future<Lease> second = offline(registered("second", 2));
    Future<?> online = threads.submit(() -> use(registered("online", 5)));
    online.get();
    assertTrue(!second.isDone(), "three and two are more than four");
    first.close();
    brought(second).close();
  }

  @Test
  void acquire_offlineRunWaitsForTheQuota_othersOfItsClassDoNotPassIt() throws Exception {
    ImportedModel small = registered("small", 1);
    Lease running = brought(offline(small));
    long waits = daemon.counters().waits();
    Future<Lease> waiting = offline(registered("large", 4));
    awaitWaits(waits + 1);
    Future<Lease> next = offline(small);
    await(() -> next.isDone() || daemon.counters().waits() == waits + 2);
    assertFalse(next.isDone(), "as long as others keep coming, the first would wait");
    running.close();
    brought(waiting).close();
    brought(next).close();
  }

  @Test
  void acquire_offlineIsComingIn_onlineGoesFirst() throws Exception {
    ImportedModel model = registered("offline", 4);
    Future<Lease> offline = offline(model);
    await(() -> device.pending() > 0);
    ImportedModel other = registered("online", 2, 2);
    use(other);
    brought(offline).close();
    assertEquals(4, residentPages(other));
  }

  @Test
  void acquire_offlineIsComingIn_onlineRequestForTheSameModelHurriesIt() throws Exception {
    ImportedModel model = registered("both", 4);
    Future<Lease> offline = offline(model);
    await(() -> device.pending() > 0);
    Future<Lease> online = threads.submit(() -> daemon.acquire(model.version()));
    awaitWaits(2);
    brought(online).close();
    brought(offline).close();
    assertTrue(daemon.counters().copies() < 4, "the rest came in one");
  }

  /** It waits for others of its class, and for nothing that a request takes. */
  @Test
  void acquire_offlineBeyondTheQuota_isInNoOnlineRunsWay() throws Exception {
    ImportedModel online = registered("online", 2);
    use(online);
    Lease first = brought(offline(registered("first", 3)));
    long waits = daemon.counters().waits();
    Future<Lease> second = offline(registered("second", 3));
    awaitWaits(waits + 1); // It is the first in line, and the first to be closed.
    Future<Lease> third = offline(registered("third", 3));
    awaitWaits(waits + 2);
    acquiredAtOnce(online).close(); // A short run passes those that wait for their quota.
    first.close();
    brought(second).close();
    brought(third).close();
  }

  /** Offline work waits for a page more than there is; its first three would give way. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void offlineWaitsForMemory_onlineWorkIsFetchedAheadAndRunsAtOnce(boolean isWished)
      throws Exception {
    ImportedModel online = registered("queued", 1);
    use(online);
    daemon.evictions().evict(online.version(), 0);
    ImportedModel held = registered("held", 7);
    use(held);
    Lease holding = daemon.acquire(held.version());
    ImportedModel model = registered("offline", 4);
    Future<Lease> offline = offline(model);
    await(
        () -> {
          device.completeAll();
          return residentPages(model) == 3 && device.pending() == 0;
        });
    acquiredAtOnce(held).close(); // A short run passes offline work that waits.
    assertFalse(
        daemon.idleLink().fetchAhead(List.of(model.version())), "nothing that online work wants");
    if (isWished) {
      daemon.idleLink().wish(online.version(), Optional.empty(), Priority.ONLINE);
    }
    assertTrue(
        daemon
            .idleLink()
            .fetchAhead(isWished ? List.of() : List.of(model.version(), online.version())));
    assertEquals(1, residentPages(online));
    assertFalse(offline.isDone());
    holding.close();
    brought(offline).close();
  }

  /** Asks again while somebody has the daemon's lock, as who waits has it now and then. */
  private Lease acquiredAtOnce(ImportedModel model) {
    while (true) {
      Lease lease = daemon.tryAcquire(model.version(), clock.get(), Runnable::run);
      if (lease != null) {
        return lease;
      }
    }
  }
}
