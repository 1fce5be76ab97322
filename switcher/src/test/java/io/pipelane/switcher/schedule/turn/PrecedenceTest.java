package io.pipelane.switcher.schedule.turn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.StatusException;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.schedule.queue.Requests;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Online runs of ten segments that others go before which wait for their memory. */
class PrecedenceTest {
  private static final long MILLISECOND = 1_000_000;
  private static final int SEGMENTS = 10;
  private static final int MOST_ENDINGS = 2;

  private final AtomicLong now = new AtomicLong();
  private final AtomicLong wholeStall = new AtomicLong();
  private final Estimates estimates = new Estimates(_ -> 0, _ -> 0, _ -> wholeStall.get(), () -> 0);

  private final class Lanes {
    final RequestQueue queue;
    final Turns turns;

    Lanes(String policy, boolean preemption, int mostEndings) {
      queue =
          TurnQueues.of(
              PipelaneConfig.of(Map.of("scheduling.policy", policy)), estimates, 2, now::get);
      OfflineGate gate = OfflineGate.open(now::get);
      Precedence precedence = new Precedence(queue, _ -> true, preemption, mostEndings);
      turns = new Turns(2, precedence, estimates, gate, now::get);
    }

    Turn begun(String model, OptionalLong deadline) {
      queue.submit(Requests.request(model, deadline), new Ignored());
      return taken();
    }

    Turn begun(String model) {
      return begun(model, OptionalLong.empty());
    }

    Turn taken() {
      Turn turn = turns.newTurn();
      assertTrue(turn.next() != null);
      turn.progress().segments(SEGMENTS);
      return turn;
    }
  }

  private Lanes lanes(String policy, boolean preemption, int mostEndings) {
    Requests.learn(estimates, "long", SEGMENTS * MILLISECOND);
    Requests.learn(estimates, "short", MILLISECOND);
    return new Lanes(policy, preemption, mostEndings);
  }

  private Lanes srtf() {
    return lanes("srtf", true, MOST_ENDINGS);
  }

  private void compute(Turn turn, int begin, int end) {
    for (int segment = begin; segment < end; segment++) {
      turn.beforeSegment(segment);
      now.addAndGet(MILLISECOND);
    }
  }

  @Test
  void longRun_shorterOnesNeedItsMemory_endsAtItsNextGateAndSoOftenAtMost() {
    Lanes lanes = srtf();
    Turn longer = lanes.begun("long");
    QueuedRequest run = longer.progress().request();
    for (int endings = 0; endings < MOST_ENDINGS; endings++) {
      compute(longer, 0, 2);
      Turn shorter = lanes.begun("short");
      assertTrue(lanes.turns.goesBefore(shorter, longer));
      assertFalse(lanes.turns.goesBefore(longer, shorter));
      longer.makeWay(false);
      Turn ending = longer;
      assertThrows(StatusException.class, () -> ending.beforeSegment(2));
      assertTrue(run.makesWay());
      run.beginsAnew();
      lanes.queue.returned().giveBack(run);
      longer.computesNoMore();
      shorter.computesNoMore();
      longer = lanes.taken();
      assertSame(run, longer.progress().request(), "before all others");
    }
    compute(longer, 0, 2);
    Turn shorter = lanes.begun("short");
    assertFalse(lanes.turns.goesBefore(shorter, longer), "it has ended often enough");
    compute(longer, 2, SEGMENTS);
    assertEquals(MOST_ENDINGS, run.endings());
  }

  /** It has been told after its last gate, or is as good as done. */
  @Test
  void runThatIsToldTooLate_comesToItsEnd() {
    Lanes lanes = srtf();
    Turn longer = lanes.begun("long");
    compute(longer, 0, SEGMENTS - 1);
    longer.makeWay(false);
    compute(longer, SEGMENTS - 1, SEGMENTS);
    assertEquals(0, longer.progress().request().endings());
  }

  /** Told between two gates, it is paused at once: it does not wait for its turn first. */
  @Test
  void runThatIsTold_comesToWaitForATurn_endsThere() {
    Lanes lanes = srtf();
    Turn longer = lanes.begun("long");
    longer.leave();
    longer.makeWay(false);
    Turn first = lanes.begun("short");
    Turn second = lanes.begun("short");
    assertThrows(StatusException.class, longer::retake);
    assertTrue(Objects.requireNonNull(longer.progress().request()).makesWay());
    first.computesNoMore();
    second.computesNoMore();
  }

  @Test
  void goesBefore_whatTheRunHasHadIsMoreThanIsGained_isFalse() {
    Lanes lanes = srtf();
    Turn longer = lanes.begun("long");
    compute(longer, 0, 4);
    Turn shorter = lanes.begun("short");
    assertTrue(lanes.turns.goesBefore(shorter, longer), "six to go, four lost, one for the other");
    compute(longer, 4, 5);
    assertFalse(lanes.turns.goesBefore(shorter, longer));
  }

  /** Two had, eight to go, and one for the other. */
  @Test
  void goesBefore_comingBackCostsMoreThanIsGained_isFalse() {
    Lanes lanes = srtf();
    Turn longer = lanes.begun("long");
    compute(longer, 0, 2);
    Turn shorter = lanes.begun("short");
    wholeStall.set(4 * MILLISECOND);
    assertTrue(lanes.turns.goesBefore(shorter, longer));
    wholeStall.set(5 * MILLISECOND);
    assertFalse(lanes.turns.goesBefore(shorter, longer));
  }

  /** What the run loses is waited for by all behind it: 2.5 ms each, of 8 that the other gains. */
  @Test
  void goesBefore_othersWaitBehind_loseAsMuchEach() {
    Lanes lanes = srtf();
    Turn longer = lanes.begun("long");
    compute(longer, 0, 2);
    Turn shorter = lanes.begun("short");
    lanes.queue.submit(Requests.request("third", OptionalLong.empty()), new Ignored());
    assertTrue(lanes.turns.goesBefore(shorter, longer));
    lanes.queue.submit(Requests.request("third", OptionalLong.empty()), new Ignored());
    assertFalse(lanes.turns.goesBefore(shorter, longer));
  }

  @Test
  void goesBefore_runWouldBeLateForItsWeights_isFalse() {
    Lanes lanes = srtf();
    Turn longer = lanes.begun("long", OptionalLong.of(16 * MILLISECOND));
    compute(longer, 0, 2);
    Turn shorter = lanes.begun("short");
    assertTrue(lanes.turns.goesBefore(shorter, longer), "11.5 ms of 14");
    wholeStall.set(4 * MILLISECOND);
    assertFalse(lanes.turns.goesBefore(shorter, longer), "15.5 ms");
  }

  /** It has waited for a lane for as long as two runs take, and had nothing of that. */
  @Test
  void goesBefore_runHasWaitedForWhatOthersHold_hasNotHadThatTime() {
    Lanes lanes = srtf();
    Turn longer = lanes.begun("long");
    longer.leave();
    now.addAndGet(2 * SEGMENTS * MILLISECOND);
    assertTrue(longer.isBlocked());
    Turn shorter = lanes.begun("short");
    assertTrue(lanes.turns.goesBefore(shorter, longer), "it has had nothing yet");
    longer.retake();
    assertFalse(longer.isBlocked());
    compute(longer, 0, 2);
    assertTrue(lanes.turns.goesBefore(shorter, longer));
  }

  @Test
  void goesBefore_runWouldMissItsDeadline_isFalse() {
    Lanes lanes = srtf();
    Turn inTime = lanes.begun("long", OptionalLong.of(30 * MILLISECOND));
    compute(inTime, 0, 2);
    Turn shorter = lanes.begun("short");
    assertTrue(lanes.turns.goesBefore(shorter, inTime));
    now.addAndGet(17 * MILLISECOND);
    Lanes others = srtf();
    Turn late = others.begun("long", OptionalLong.of(30 * MILLISECOND));
    assertFalse(others.turns.goesBefore(others.begun("short"), late));
  }

  @Test
  void goesBefore_noRunMayEndOrGivesWayOrThePolicyLetsAllComeToTheirEnd_isFalse() {
    for (Lanes lanes :
        new Lanes[] {
          lanes("srtf", true, 0),
          lanes("srtf", false, MOST_ENDINGS),
          lanes("fifo", true, MOST_ENDINGS),
          lanes("edf", true, MOST_ENDINGS),
          lanes("fair", true, MOST_ENDINGS),
          lanes("pack", true, MOST_ENDINGS)
        }) {
      Turn longer = lanes.begun("long");
      compute(longer, 0, 1);
      assertFalse(lanes.turns.goesBefore(lanes.begun("short"), longer));
    }
  }

  /** Ageing lets it end less often, never more: no two go before each other, and each pays. */
  @Test
  void goesBefore_randomRuns_onlyWhereItIsWorthWhatIsLostAndNeverBothWays() {
    long seed = ThreadLocalRandom.current().nextLong();
    Random random = new Random(seed);
    int before = 0;
    for (int round = 0; round < 2_000; round++) {
      String about = "seed " + seed + ", round " + round;
      Lanes lanes = new Lanes("srtf", true, 1);
      String[] models = {"a" + round, "b" + round};
      Turn[] turns = new Turn[2];
      long[] had = new long[2];
      long[] left = new long[2];
      for (int i = 0; i < 2; i++) {
        left[i] = MILLISECOND + random.nextLong(100 * MILLISECOND);
        Requests.learn(estimates, models[i], left[i]);
        turns[i] = lanes.begun(models[i]);
        long passes = random.nextLong(20 * MILLISECOND);
        now.addAndGet(passes);
        for (int j = 0; j <= i; j++) {
          had[j] += passes;
          left[j] = Math.max(0, left[j] - passes);
        }
      }
      boolean goes = lanes.turns.goesBefore(turns[1], turns[0]);
      if (goes) {
        before++;
        assertTrue(left[0] > had[0], about);
        assertFalse(lanes.turns.goesBefore(turns[0], turns[1]), about);
      }
      estimates.forget(turns[0].progress().request().request().model());
      estimates.forget(turns[1].progress().request().request().model());
    }
    assertTrue(before > 0);
  }
}
