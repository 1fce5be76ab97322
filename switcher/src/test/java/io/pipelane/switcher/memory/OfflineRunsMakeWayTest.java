package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Offline runs that hold what online work waits for, on a device of ten pages. */
class OfflineRunsMakeWayTest extends DaemonTest {
  private Lease brought(ImportedModel model, Priority priority) throws Exception {
    Future<Lease> lease =
        threads.submit(() -> daemon.acquire(model.version(), priority, RunControl.NONE));
    while (!lease.isDone()) {
      device.completeAll();
      Thread.onSpinWait();
    }
    device.completeAll();
    return lease.get();
  }

  private Lease offline(ImportedModel model, RunControl run) throws Exception {
    Lease lease = brought(model, Priority.OFFLINE);
    lease.controlledBy(run, 1);
    return lease;
  }

  private Future<Lease> asked(ImportedModel model, Priority priority) {
    long waits = daemon.counters().waits();
    Future<Lease> lease =
        threads.submit(() -> daemon.acquire(model.version(), priority, RunControl.NONE));
    awaitWaits(waits + 1);
    return lease;
  }

  @Test
  void acquire_offlineRunHoldsTheRoom_isToldAndOnlineHasItOnceItHasGone() throws Exception {
    ToldRun told = new ToldRun();
    Lease offline = offline(registered("offline", 4), told);
    ImportedModel online = registered("online", 8);
    Future<Lease> waiting = asked(online, Priority.ONLINE);
    await(told::isTold);
    assertFalse(told.isToldAtOnce());
    assertFalse(waiting.isDone(), "it still holds its weights");
    offline.close();
    waiting.get().close();
    assertEquals(8, residentPages(online));
  }

  /** Of three that hold two pages each the two that have come last hold what is missing. */
  @Test
  void acquire_severalOfflineRuns_asManyOfTheLatestAreToldAsHoldWhatIsMissing() throws Exception {
    ToldRun[] told = {new ToldRun(), new ToldRun(), new ToldRun()};
    Lease[] leases = new Lease[3];
    for (int i = 0; i < leases.length; i++) {
      leases[i] = offline(registered("offline" + i, 2), told[i]);
    }
    use(registered("idle", 3)); // Gives way by itself.
    Future<Lease> waiting = asked(registered("online", 7), Priority.ONLINE);
    await(told[1]::isTold);
    assertTrue(told[2].isTold());
    leases[2].close();
    leases[1].close();
    waiting.get().close();
    assertFalse(told[0].isTold(), "the others hold the three pages that are missing");
    leases[0].close();
  }

  /** What comes for nobody leaves by itself once it is there. */
  @Test
  void acquire_pagesHaveOnlyToArrive_nobodyIsTold() throws Exception {
    ToldRun told = new ToldRun();
    Lease offline = offline(registered("offline", 3), told);
    daemon.acquire(registered("arriving", 6).version()).close();
    Future<Lease> waiting = asked(registered("online", 7), Priority.ONLINE);
    assertFalse(waiting.isDone(), "its pages are still written");
    brought(waiting).close();
    assertFalse(told.isTold());
    offline.close();
  }

  /** The latest waits for a lane, and comes to its gate only when it has one. */
  @Test
  void acquire_latestRunIsBlocked_anotherIsToldInItsPlace() throws Exception {
    ToldRun told = new ToldRun();
    ToldRun blocked = new ToldRun();
    blocked.blocks(true);
    Lease first = offline(registered("first", 4), told);
    Lease latest = offline(registered("latest", 4), blocked);
    Future<Lease> waiting = asked(registered("online", 6), Priority.ONLINE);
    await(told::isTold);
    assertFalse(blocked.isTold(), "the other one is enough");
    first.close();
    brought(waiting).close();
    latest.close();
  }

  @Test
  void acquire_runThatWasToldIsBlocked_anotherIsToldAsWell() throws Exception {
    ToldRun told = new ToldRun();
    ToldRun blocked = new ToldRun();
    Lease first = offline(registered("first", 4), told);
    Lease latest = offline(registered("latest", 4), blocked);
    Future<Lease> waiting = asked(registered("online", 6), Priority.ONLINE);
    await(blocked::isTold);
    assertFalse(told.isTold(), "the latest comes to its gate");
    blocked.blocks(true);
    Future<Lease> behind = asked(registered("small", 1), Priority.ONLINE);
    await(told::isTold);
    first.close();
    brought(waiting).close();
    brought(behind).close();
    latest.close();
  }

  @Test
  void acquire_onlyBlockedRunsHoldTheRoom_areTold() throws Exception {
    ToldRun blocked = new ToldRun();
    blocked.blocks(true);
    Lease offline = offline(registered("offline", 4), blocked);
    Future<Lease> waiting = asked(registered("online", 8), Priority.ONLINE);
    await(blocked::isTold);
    offline.close();
    brought(waiting).close();
  }

  @Test
  void acquire_modelThatOnlineWorkRunsToo_itsOfflineRunIsLeftAlone() throws Exception {
    ToldRun told = new ToldRun();
    ImportedModel both = registered("both", 4);
    Lease offline = offline(both, told);
    Lease online = brought(both, Priority.ONLINE);
    Future<Lease> waiting = asked(registered("other", 8), Priority.ONLINE);
    assertFalse(told.isTold(), "its weights would stay");
    online.close();
    await(told::isTold);
    offline.close();
    waiting.get().close();
  }

  @Test
  void acquire_offlineWorkWaits_nobodyIsTold() throws Exception {
    ToldRun told = new ToldRun();
    Lease first = offline(registered("first", 4), told);
    Future<Lease> second = asked(registered("second", 8), Priority.OFFLINE);
    Lease online = brought(registered("online", 3), Priority.ONLINE);
    assertFalse(told.isTold(), "offline runs wait for each other");
    online.close();
    first.close();
    brought(second).close();
  }

  private Lease brought(Future<Lease> lease) throws Exception {
    while (!lease.isDone()) {
      device.completeAll();
      Thread.onSpinWait();
    }
    return lease.get();
  }

  /** There is one range for two variants, and offline work has it. */
  @Test
  void acquire_offlineRunHoldsTheRange_isTold() throws Exception {
    ToldRun told = new ToldRun();
    ImportedModel first = variant("first");
    ImportedModel second = variant("second");
    ToldRun bystander = new ToldRun();
    Lease other = offline(registered("other", 1), bystander);
    Lease offline = offline(first, told);
    Future<Lease> waiting = asked(second, Priority.ONLINE);
    await(told::isTold);
    offline.close();
    brought(waiting).close();
    assertFalse(bystander.isTold(), "it has no range of theirs");
    other.close();
  }

  /** Between its weights' coming and the run's beginning nobody hears for it. */
  @Test
  void controlledBy_runWasToMakeWayBefore_isToldThen() throws Exception {
    ToldRun told = new ToldRun();
    Lease offline = brought(registered("offline", 4), Priority.OFFLINE);
    Future<Lease> waiting = asked(registered("online", 8), Priority.ONLINE);
    offline.controlledBy(told, 1);
    assertTrue(told.isTold());
    offline.close();
    waiting.get().close();
  }

  /** What online work uses as well stays. */
  @Test
  void endOfflineRuns_allAreToldAndWhatTheyAloneUseCanBeTakenBackThen() throws Exception {
    ImportedModel shared = registered("shared", 2);
    use(shared);
    ImportedModel own = registered("own", 3);
    ToldRun first = new ToldRun();
    ToldRun second = new ToldRun();
    Lease ofShared = offline(shared, first);
    Lease ofOwn = offline(own, second);
    daemon.evictions().endOfflineRuns();
    assertTrue(first.isToldAtOnce() && second.isToldAtOnce());
    assertEquals(0, daemon.evictions().takeBackOffline());
    assertEquals(3, residentPages(own), "until the run has ended");
    ofOwn.close();
    ofShared.close();
    assertEquals(3 * PAGE, daemon.evictions().takeBackOffline());
    assertEquals(0, residentPages(own));
    assertEquals(2, residentPages(shared));
  }
}
