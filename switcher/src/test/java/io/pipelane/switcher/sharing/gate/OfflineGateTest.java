package io.pipelane.switcher.sharing.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.SharingConfig.Multiprocessors;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.sharing.monitor.SharingState;
import io.pipelane.switcher.sharing.trial.ShareTrial;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class OfflineGateTest {
  private static final long SEGMENT = 1_000_000;
  private static final long SECOND = 1_000_000_000;

  private final AtomicLong now = new AtomicLong();
  private final OnlineWork online = new OnlineWork();
  private final OfflineGate gate = new OfflineGate(true, 0, 1, online, now::get);
  private final AtomicInteger told = new AtomicInteger();

  @Test
  void onlineWorkInFlight_closesUntilItHasEnded() {
    gate.onOpened(told::incrementAndGet);
    online.arrived(now.get());
    ResultHandler first = online.begin(new Ignored());
    online.arrived(now.get());
    ResultHandler second = online.begin(new Ignored());
    assertFalse(gate.mayBegin());
    assertEquals(OfflineGate.UNTIL_TOLD, gate.waitNanos(SEGMENT, 0));
    first.completed(new InferenceTimings(0, 0, 0));
    assertEquals(OfflineGate.UNTIL_TOLD, gate.waitNanos(SEGMENT, 0));
    assertEquals(0, told.get());
    second.failed(new StatusException(Status.INTERNAL, "as a test wants it"));
    assertEquals(1, told.get());
    assertEquals(0, gate.waitNanos(SEGMENT, 0));
    assertTrue(gate.mayBegin());
  }

  /** By the arrivals alone: nothing is in flight when a segment asks. */
  @Test
  void onlineWorkComesRegularly_segmentThatWouldRunIntoTheNextRequestWaitsForIt() {
    long gap = 10 * SEGMENT;
    for (int i = 0; i < 20; i++) {
      now.addAndGet(gap);
      online.arrived(now.get());
      online.begin(new Ignored()).completed(new InferenceTimings(0, 0, 0));
    }
    long due = now.get() + gap;
    assertEquals(new ExpectedArrival(due, due), gate.expected());
    assertEquals(0, gate.waitNanos(SEGMENT, now.get()), "there is time for more");
    now.set(due - SEGMENT - 1);
    assertEquals(0, gate.waitNanos(SEGMENT, now.get()), "and for one");
    now.set(due - SEGMENT / 2);
    assertEquals(SEGMENT / 2, gate.waitNanos(SEGMENT, now.get()));
    assertEquals(0, gate.waitNanos(SEGMENT / 4, now.get()), "a shorter one ends before");
    now.set(due);
    assertEquals(0, gate.waitNanos(SEGMENT, now.get()), "nobody is waited for who is late");
    gate.lift();
    now.set(due - SEGMENT / 2);
    assertEquals(0, gate.waitNanos(SEGMENT, now.get()), "nor on drain");
  }

  /** Else both would wait for each other: it may be a held run's memory. */
  @Test
  void onlineWorkWaitsForMemory_opens() {
    gate.onOpened(told::incrementAndGet);
    online.arrived(now.get());
    online.begin(new Ignored());
    gate.setState(SharingState.OVERLIMIT);
    online.waitsForMemory();
    assertTrue(told.get() > 0);
    assertEquals(0, gate.waitNanos(SEGMENT, 0));
    online.gotMemory();
    assertEquals(OfflineGate.UNTIL_TOLD, gate.waitNanos(SEGMENT, 0));
  }

  /** What a model over several devices waits for before it is a request of this one. */
  @Test
  void memoryIsWaitedForAheadOfARun_opensAndChangesNothingElse() {
    ResultHandler running = online.begin(new Ignored());
    try (OnlineWork.MemoryWait wait = online.new MemoryWait()) {
      assertEquals(OfflineGate.UNTIL_TOLD, gate.waitNanos(SEGMENT, 0));
      wait.begin();
      wait.begin();
      assertEquals(0, gate.waitNanos(SEGMENT, 0));
      assertTrue(online.isInFlight(), "the other one computes");
    }
    assertEquals(OfflineGate.UNTIL_TOLD, gate.waitNanos(SEGMENT, 0));
    running.completed(new InferenceTimings(0, 0, 0));
    assertFalse(online.isInFlight());
    assertEquals(0, gate.waitNanos(SEGMENT, 0));
  }

  @Test
  void unhealthyDevice_takesNoNewRunsAndLetsOthersGoOn() {
    gate.setState(SharingState.UNHEALTHY);
    assertFalse(gate.mayBegin());
    assertEquals(0, gate.waitNanos(SEGMENT, 0));
    gate.setState(SharingState.OVERLIMIT);
    assertEquals(OfflineGate.UNTIL_TOLD, gate.waitNanos(SEGMENT, 0));
    gate.close();
    assertEquals(0, gate.waitNanos(SEGMENT, 0), "what was taken comes to its end");
  }

  @Test
  void stopsForOnline_whereTheGateHeedsItAndLeavesNoShare() {
    assertTrue(gate.stopsForOnline());
    assertFalse(new OfflineGate(true, 0.2, 1, online, now::get).stopsForOnline());
    assertFalse(OfflineGate.open(now::get).stopsForOnline());
    gate.close();
    assertFalse(gate.stopsForOnline());
  }

  @Test
  void liftedGate_heedsOnlineWorkInFlightAlone() {
    gate.setState(SharingState.OVERLIMIT);
    gate.setShare(0.25);
    ResultHandler running = online.begin(new Ignored());
    gate.lift();
    assertEquals(OfflineGate.UNTIL_TOLD, gate.waitNanos(SEGMENT, 0));
    assertEquals(0, gate.allowed());
    assertFalse(gate.mayBegin());
    running.completed(new InferenceTimings(0, 0, 0));
    assertEquals(0, gate.waitNanos(SEGMENT, 0));
    assertEquals(1, gate.allowed());
    assertTrue(gate.mayBegin());
  }

  @Test
  void share_pausesInProportionToTheSegment() {
    gate.setShare(0.25);
    now.set(100);
    assertEquals(3 * SEGMENT, gate.waitNanos(SEGMENT, 100));
    now.addAndGet(SEGMENT);
    assertEquals(2 * SEGMENT, gate.waitNanos(SEGMENT, 100));
    now.addAndGet(2 * SEGMENT);
    assertEquals(0, gate.waitNanos(SEGMENT, 100));
  }

  @Test
  void shareOfNothing_stopsUntilToldOtherwise() {
    gate.onOpened(told::incrementAndGet);
    AtomicInteger toldClosed = new AtomicInteger();
    gate.onClosed(toldClosed::incrementAndGet);
    gate.setShare(0);
    assertEquals(OfflineGate.UNTIL_TOLD, gate.waitNanos(SEGMENT, 0));
    assertEquals(0, gate.allowed());
    assertEquals(1, toldClosed.get());
    gate.setShare(0);
    assertEquals(0, told.get());
    gate.setShare(0.5);
    assertEquals(1, told.get());
    assertEquals(0.5, gate.allowed());
    assertEquals(SEGMENT, gate.waitNanos(SEGMENT, 0));
    gate.setShare(0.25);
    assertEquals(2, toldClosed.get(), "whoever keeps the share elsewhere is to hear of it");
  }

  /** Else times would be taken for those alone that are not. */
  @Test
  void ranSince_runComputesOnToItsNextGate_itRan() {
    AtomicBoolean stands = new AtomicBoolean();
    assertFalse(gate.runs().ranSince(gate.runs().mark()), "there is none");
    gate.begin(stands::get);
    gate.setShare(0);
    long mark = gate.runs().mark();
    stands.set(true);
    assertTrue(gate.runs().ranSince(mark), "it came to its gate meanwhile");
    assertFalse(gate.runs().ranSince(gate.runs().mark()), "it stands there");
  }

  @Test
  void ranSince_runGoesOnAndStandsAgainOrBegins_itRan() {
    AtomicBoolean stands = new AtomicBoolean(true);
    OfflineRun run = stands::get;
    long idle = gate.runs().mark();
    gate.begin(run);
    assertTrue(gate.runs().ranSince(idle));
    long mark = gate.runs().mark();
    gate.runs().goesOn();
    assertTrue(gate.runs().ranSince(mark));
    long again = gate.runs().mark();
    gate.end(run);
    assertFalse(gate.runs().ranSince(again));
  }

  /** Else an online run would wait for ever for the memory of the one that is held. */
  @Test
  void shareOfNothing_onlineWorkWaitsForMemory_opens() {
    gate.setShare(0);
    online.arrived(now.get());
    online.begin(new Ignored());
    online.waitsForMemory();
    assertEquals(0, gate.waitNanos(SEGMENT, 0));
  }

  @Test
  void leastShare_isHadWhileOnlineWorkIsInFlight() {
    OfflineGate shared = new OfflineGate(true, 0.5, 1, online, now::get);
    online.arrived(now.get());
    online.begin(new Ignored());
    assertEquals(SEGMENT, shared.waitNanos(SEGMENT, 0));
    assertEquals(0, shared.waitNanos(0, 0));
  }

  @Test
  void asManyRunsAsAllowed_noMoreBegin() {
    OfflineRun run = () -> false;
    gate.begin(run);
    assertFalse(gate.mayBegin());
    gate.end(run);
    assertTrue(gate.mayBegin());
    assertEquals(1, gate.runs().counts().ended());
  }

  @Test
  void share_isForTheTimeInWhichOnlineWorkIsInFlight() {
    ShareTrial always = ShareTrial.of(Multiprocessors.ALWAYS, List.of(10), 10, 1);
    OfflineGate shared = new OfflineGate(true, 0, 1, online, always, now::get);
    assertFalse(shared.share().mayBegin());
    ResultHandler handler = online.begin(new Ignored());
    assertTrue(shared.share().mayBegin());
    assertFalse(shared.mayBegin());
    shared.setState(SharingState.UNHEALTHY);
    assertFalse(shared.share().mayBegin());
    assertTrue(shared.share().mayCompute());
    shared.setState(SharingState.OVERLIMIT);
    assertFalse(shared.share().mayCompute());
    online.waitsForMemory();
    assertTrue(shared.share().mayCompute(), "it may have the memory");
    online.gotMemory();
    shared.setState(SharingState.HEALTHY);
    shared.setShare(0.4);
    assertFalse(shared.share().mayCompute(), "online work is slowed down too much");
    handler.completed(new InferenceTimings(0, 0, 0));
    shared.close();
    assertTrue(shared.share().mayCompute());
    assertFalse(shared.share().mayBegin());
  }

  /** Looks so long at a trial with as much work as it needs that it has done with the share. */
  private void look(OfflineGate shared, double seconds, long onlineNanos) {
    long end = now.get() + (long) (seconds * SECOND);
    while (now.addAndGet(SECOND / 10) <= end) {
      for (int i = 0; i < 10; i++) {
        shared.trial().onlineRan(onlineNanos);
        shared.trial().onlineAnswered("kind", now.get(), onlineNanos);
      }
      shared.trial().offlineRan(SECOND / 10);
      shared.lookAtTrial(now.get());
    }
  }

  /** Nowhere else could it go on, and the next trial might wait for its end. */
  @Test
  void shareIsClosed_runThatHasBegunComesToItsEnd() {
    ShareTrial measured = ShareTrial.of(Multiprocessors.MEASURED, List.of(10), 10, 1);
    OfflineGate shared = new OfflineGate(true, 0, 1, online, measured, now::get);
    online.begin(new Ignored());
    look(shared, 11, SEGMENT);
    assertTrue(shared.share().mayBegin());
    shared.share().begin(() -> false);
    look(shared, 10, 2 * SEGMENT);
    assertFalse(shared.share().mayBegin());
    assertTrue(shared.share().mayCompute());
    shared.setState(SharingState.OVERLIMIT);
    assertFalse(shared.share().mayCompute());
  }

  @Test
  void trialMeasuresOnlineWorkAlone_offlineWorkStandsUntilThatIsOver() {
    ShareTrial measured = ShareTrial.of(Multiprocessors.MEASURED, List.of(10), 10, 1);
    OfflineGate shared = new OfflineGate(true, 0, 1, online, measured, now::get);
    AtomicInteger closed = new AtomicInteger();
    AtomicInteger opened = new AtomicInteger();
    shared.onClosed(closed::incrementAndGet);
    shared.onOpened(opened::incrementAndGet);
    look(shared, 6, SEGMENT);
    assertEquals(0, shared.allowed());
    assertTrue(shared.waitNanos(SEGMENT, now.get()) > 10 * SECOND);
    assertFalse(shared.mayBegin());
    assertFalse(shared.share().mayBegin());
    assertFalse(shared.share().mayCompute());
    assertEquals(1, closed.get());
    online.waitsForMemory();
    assertEquals(1, shared.allowed(), "what it waits for may be held by offline work");
    online.gotMemory();
    int before = opened.get();
    look(shared, 5, SEGMENT);
    assertTrue(opened.get() > before);
    assertEquals(1, shared.allowed());
    assertTrue(shared.mayBegin());
  }

  /** Else a look that never comes back would hold offline work for ever. */
  @Test
  void trialMeasuresOnlineWorkAloneAndNobodyLooks_offlineWorkGoesOn() {
    ShareTrial measured = ShareTrial.of(Multiprocessors.MEASURED, List.of(10), 10, 1);
    OfflineGate shared = new OfflineGate(true, 0, 1, online, measured, now::get);
    look(shared, 6, SEGMENT);
    assertFalse(shared.mayBegin());
    long wait = shared.waitNanos(SEGMENT, now.get());
    assertTrue(wait > 10 * SECOND && wait <= 20 * SECOND, wait + " ns");
    now.addAndGet(wait);
    assertEquals(1, shared.allowed());
    assertEquals(0, shared.waitNanos(SEGMENT, now.get() - SEGMENT));
    assertTrue(shared.mayBegin());
    assertTrue(shared.share().mayCompute());
  }

  /** Whether a trial gets on by requests that are answered, each so. */
  private boolean triesAfter(InferenceTimings timings) {
    long begin = now.get();
    ShareTrial measured = ShareTrial.of(Multiprocessors.MEASURED, List.of(10), 10, 1);
    OfflineGate shared = new OfflineGate(true, 0, 1, new OnlineWork(), measured, now::get);
    InferenceRequest request =
        new InferenceRequest(new ModelVersion("bert", 1), List.of(), List.of());
    while (now.addAndGet(SECOND / 10) - begin <= 11 * SECOND) {
      for (int i = 0; i < 10; i++) {
        shared.cost().comparing(request, new Ignored(), now.get() - SEGMENT).completed(timings);
      }
      measured.offlineRan(SECOND / 10);
      shared.lookAtTrial(now.get());
    }
    return measured.isOpen();
  }

  @Test
  void answersOfRequests_areComparedUnlessTheyWaitedForWeights() {
    assertTrue(triesAfter(new InferenceTimings(0, 0, 10)));
    assertFalse(triesAfter(new InferenceTimings(0, 1, 10)));
  }

  /** A run that was told to stand computes on to its next gate. */
  @Test
  void answersBesideAnOfflineRunThatIsToStand_areNotThoseOfOnlineWorkAlone() {
    ShareTrial measured = ShareTrial.of(Multiprocessors.MEASURED, List.of(10), 10, 1);
    OnlineWork others = new OnlineWork();
    OfflineGate shared = new OfflineGate(true, 0, 1, others, measured, now::get);
    AtomicBoolean stands = new AtomicBoolean(true);
    shared.begin(stands::get);
    answer(shared, 6, 1);
    assertTrue(measured.holdsOffline());
    stands.set(false); // It goes on for a second, and online answers take twice as long.
    answer(shared, 1, 2);
    stands.set(true);
    answer(shared, 4.5, 1);
    assertTrue(measured.isOpen());
    answer(shared, 10, 1.2);
    assertFalse(measured.isOpen(), "it takes 1.2 times as long as alone");
    assertEquals(1.2, measured.overview().onlineSlowdown().orElseThrow(), 0.01);
  }

  @Test
  void offlineRunThatDoesNotStand_goesOnAndIsNoVerdict() {
    ShareTrial measured = ShareTrial.of(Multiprocessors.MEASURED, List.of(10), 10, 1);
    OfflineGate shared = new OfflineGate(true, 0, 1, new OnlineWork(), measured, now::get);
    shared.begin(() -> false);
    answer(shared, 6, 1);
    assertTrue(measured.holdsOffline());
    assertTrue(shared.share().holdsNanos() > 0, "if nobody looks at it any more");
    answer(shared, 14, 2);
    assertFalse(measured.holdsOffline());
    assertEquals(0, shared.share().holdsNanos());
    assertFalse(measured.isOpen());
  }

  /** A run in another process has no time by which to go on. */
  @Test
  void runsThatStandForATime_areToldWhenItIsOver_thoughNobodyLooksAnyMore() {
    ShareTrial measured = ShareTrial.of(Multiprocessors.MEASURED, List.of(10), 10, 1);
    Map<Long, Runnable> alarms = new HashMap<>();
    OfflineGate shared =
        new OfflineGate(true, 0, 1, new OnlineWork(), measured, now::get, alarms::put);
    answer(shared, 6, 1);
    long holds = shared.share().holdsNanos();
    assertTrue(holds > 0);
    assertEquals(0, shared.allowed());
    AtomicInteger allowed = new AtomicInteger();
    shared.onOpened(() -> allowed.set((int) shared.allowed()));
    now.addAndGet(holds);
    List.copyOf(alarms.values()).forEach(Runnable::run);
    assertEquals(1, allowed.get());
  }

  /**
   * Has requests answered, ten in a tenth of a second, that take so many times as long as usual.
   */
  private void answer(OfflineGate shared, double seconds, double slower) {
    InferenceRequest request =
        new InferenceRequest(new ModelVersion("bert", 1), List.of(), List.of());
    long end = now.get() + (long) (seconds * SECOND);
    while (now.addAndGet(SECOND / 10) <= end) {
      long came = now.get() - (long) (slower * SEGMENT);
      for (int i = 0; i < 10; i++) {
        ResultHandler handler = shared.cost().comparing(request, new Ignored(), came);
        handler.completed(new InferenceTimings(0, 0, 10));
      }
      shared.trial().offlineRan(SECOND / 10);
      shared.lookAtTrial(now.get());
    }
  }

  @Test
  void shareWithoutGates_isAllThereIsUntilTheGateIsClosed() {
    ShareTrial always = ShareTrial.of(Multiprocessors.ALWAYS, List.of(10), 10, 1);
    OfflineGate shared = new OfflineGate(false, 0, 1, online, always, now::get);
    assertFalse(shared.mayBegin());
    assertTrue(shared.share().mayBegin(), "online work need not be in flight");
    online.begin(new Ignored());
    assertFalse(shared.mayBegin());
    assertTrue(shared.share().mayBegin());
    shared.setState(SharingState.UNHEALTHY);
    assertFalse(shared.share().mayBegin());
    assertFalse(shared.mayBegin());
    shared.close();
    assertTrue(shared.mayBegin());
    assertFalse(shared.share().mayBegin());
  }

  @Test
  void runInShare_countsAsComputing_andNotAmongThoseThatHaveTurns() {
    ShareTrial always = ShareTrial.of(Multiprocessors.ALWAYS, List.of(10), 10, 1);
    OfflineGate shared = new OfflineGate(true, 0, 1, online, always, now::get);
    long before = shared.runs().mark();
    shared.share().begin(() -> false);
    assertTrue(shared.runs().ranSince(before));
    assertTrue(shared.mayBegin());
    assertTrue(shared.runs().ranSince(shared.runs().mark()));
    assertEquals(1, shared.runs().counts().running());
    shared.share().end();
    assertEquals(0, shared.runs().counts().running());
    assertFalse(shared.runs().ranSince(shared.runs().mark()));
  }
}
