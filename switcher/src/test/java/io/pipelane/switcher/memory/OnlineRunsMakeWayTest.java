package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Test;

/** Online runs that hold what another one waits for that goes before them, on ten pages. */
class OnlineRunsMakeWayTest extends DaemonTest {
  private Lease held(ImportedModel model, Priority priority, RunControl run) throws Exception {
    Future<Lease> lease = threads.submit(() -> daemon.acquire(model.version(), priority, run));
    return brought(lease);
  }

  private Lease online(String name, int pages, RunControl run) throws Exception {
    return held(registered(name, pages), Priority.ONLINE, run);
  }

  private Lease brought(Future<Lease> lease) throws Exception {
    while (!lease.isDone()) {
      device.completeAll();
      Thread.onSpinWait();
    }
    device.completeAll();
    return lease.get();
  }

  private Future<Lease> asked(ImportedModel model, RunControl run) {
    long waits = daemon.counters().waits();
    Future<Lease> lease =
        threads.submit(() -> daemon.acquire(model.version(), Priority.ONLINE, run));
    awaitWaits(waits + 1);
    return lease;
  }

  private Future<Lease> asked(String name, int pages, RunControl run) {
    return asked(registered(name, pages), run);
  }

  @Test
  void acquire_runThatGoesBefore_holderIsToldAndItHasTheRoomOnceThatHasGone() throws Exception {
    ToldRun told = new ToldRun();
    Lease holding = online("long", 8, told);
    Future<Lease> waiting = asked("short", 4, ToldRun.before(_ -> true));
    await(told::isTold);
    assertFalse(told.isToldAtOnce());
    assertFalse(waiting.isDone(), "it still holds its weights");
    holding.close();
    brought(waiting).close();
  }

  @Test
  void acquire_runThatDoesNotGoBefore_waitsForTheHoldersEnd() throws Exception {
    ToldRun told = new ToldRun();
    Lease holding = online("short", 8, told);
    Future<Lease> waiting = asked("long", 4, ToldRun.before(_ -> false));
    holding.close();
    brought(waiting).close();
    assertFalse(told.isTold());
  }

  /** What would be lost would bring nothing: another run stays that holds the rest. */
  @Test
  void acquire_roomWouldNotBeEnough_noOnlineRunIsTold() throws Exception {
    ToldRun told = new ToldRun();
    ToldRun other = new ToldRun();
    Lease holding = online("long", 3, told);
    Lease staying = online("other", 5, other);
    Future<Lease> waiting = asked("short", 6, ToldRun.before(lease -> lease == holding));
    staying.close();
    holding.close();
    brought(waiting).close();
    assertFalse(told.isTold() && other.isTold());
    assertFalse(other.isTold());
  }

  /** The latest would do with the first, but the first alone does. */
  @Test
  void acquire_severalHold_onlyThoseAreToldWithoutWhomThereIsNoRoom() throws Exception {
    ToldRun[] told = {new ToldRun(), new ToldRun()};
    Lease first = online("first", 6, told[0]);
    Lease second = online("second", 2, told[1]);
    Future<Lease> waiting = asked("short", 8, ToldRun.before(_ -> true));
    await(told[0]::isTold);
    first.close();
    brought(waiting).close();
    assertFalse(told[1].isTold());
    second.close();
  }

  @Test
  void acquire_offlineRunHoldsEnough_onlineRunsAreLeftAlone() throws Exception {
    ToldRun told = new ToldRun();
    ToldRun offline = new ToldRun();
    Lease holding = online("long", 4, told);
    Lease offlineLease = held(registered("offline", 4), Priority.OFFLINE, offline);
    Future<Lease> waiting = asked("short", 6, ToldRun.before(_ -> true));
    await(offline::isTold);
    offlineLease.close();
    brought(waiting).close();
    assertFalse(told.isTold());
    holding.close();
  }

  @Test
  void acquire_modelThatStaysForAnotherRun_noRunOfItIsTold() throws Exception {
    ToldRun told = new ToldRun();
    ImportedModel both = registered("both", 8);
    Lease first = held(both, Priority.ONLINE, told);
    Lease second = held(both, Priority.ONLINE, RunControl.NONE);
    Future<Lease> waiting = asked("short", 4, ToldRun.before(lease -> lease == first));
    second.close();
    await(told::isTold);
    first.close();
    brought(waiting).close();
  }

  @Test
  void acquire_runHoldsTheRange_isTold() throws Exception {
    ToldRun told = new ToldRun();
    ImportedModel second = variant("second");
    Lease holding = held(variant("first"), Priority.ONLINE, told);
    Future<Lease> waiting = asked(second, ToldRun.before(_ -> true));
    await(told::isTold);
    holding.close();
    brought(waiting).close();
  }

  /** Nobody is told for nothing: once all that were told have ended there is room. */
  @Test
  void randomHolders_onlyNeededOnesAreTold_andThereIsRoomOnceTheyHaveEnded() throws Exception {
    long seed = ThreadLocalRandom.current().nextLong();
    Random random = new Random(seed);
    for (int round = 0; round < 200; round++) {
      String about = "seed " + seed + ", round " + round;
      List<ToldRun> runs = new ArrayList<>();
      List<Lease> leases = new ArrayList<>();
      Set<Lease> longer = new HashSet<>();
      int free = PAGES;
      while (free > 2) {
        int pages = 1 + random.nextInt(free);
        runs.add(new ToldRun());
        leases.add(online(round + " holds " + leases.size(), pages, runs.getLast()));
        free -= pages;
        if (random.nextInt(3) > 0) {
          longer.add(leases.getLast());
        }
      }
      int wanted = free + 1 + random.nextInt(PAGES - free);
      Future<Lease> waiting = asked(round + " waits", wanted, ToldRun.before(longer::contains));
      List<Lease> staying = new ArrayList<>();
      long told = runs.stream().filter(ToldRun::isTold).count();
      for (int i = 0; i < runs.size(); i++) {
        assertTrue(!runs.get(i).isTold() || longer.contains(leases.get(i)), about);
        if (told == 0 || !runs.get(i).isTold()) {
          staying.add(leases.get(i));
        } else {
          assertFalse(waiting.isDone(), about + ": it waits for each");
          leases.get(i).close();
        }
      }
      if (told == 0) {
        staying.forEach(Lease::close);
        staying.clear();
      }
      brought(waiting).close();
      staying.forEach(Lease::close);
      leases.forEach(
          lease -> assertEquals(0, lease.residency().leases, about + ": all have been given back"));
      for (Lease lease : leases) {
        daemon.deregister(lease.residency().model.version());
      }
    }
  }
}
