package io.pipelane.lanes.cuda.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntToLongFunction;
import org.junit.jupiter.api.Test;

/** Segments on a device that computes one after another, by a clock of its own. */
class SegmentPaceTest {
  private static final int SEGMENTS = 8;
  private static final long SEGMENT_NANOS = 200_000;
  private static final long ENQUEUING_NANOS = 5_000;
  private static final long LOOK_NANOS = 100;
  private static final long LIMIT_NANOS = 2_000_000;

  private long now;
  private final List<Long> ends = new ArrayList<>(); // Of what is in front of each mark.
  private long idleNanos;
  private long earliestNanos;

  private final SegmentPace pace = new SegmentPace(SEGMENTS, this::isOver, () -> now += LOOK_NANOS);

  private boolean isOver(int mark) {
    return now >= ends.get(mark);
  }

  private void enqueue(long nanos) {
    now += ENQUEUING_NANOS;
    long free = ends.isEmpty() ? now : ends.getLast();
    idleNanos += Math.max(0, now - free);
    earliestNanos = Math.max(earliestNanos, free - now);
    ends.add(Math.max(now, free) + nanos);
  }

  /** Runs once; tells for how long the device had nothing to do behind the first segment. */
  private long run(IntToLongFunction nanos, int standsAt) {
    pace.begin();
    enqueue(nanos.applyAsLong(0));
    idleNanos = 0;
    earliestNanos = 0;
    for (int segment = 1; segment < SEGMENTS; segment++) {
      int mark = ends.size() - 1;
      assertTrue(pace.await(segment - 1, mark, LIMIT_NANOS));
      if (segment > 1) {
        assertTrue(isOver(mark - 1), "two segments at most are enqueued");
      }
      if (segment == standsAt) {
        now += 10 * SEGMENT_NANOS;
        idleNanos = 0;
      }
      pace.next(mark);
      enqueue(nanos.applyAsLong(segment));
    }
    now = ends.getLast();
    return idleNanos;
  }

  private static long usual(int segment) {
    return SEGMENT_NANOS + segment * 10_000L;
  }

  @Test
  void firstRun_nothingIsKnown_eachSegmentIsEnqueuedOnceTheOneInFrontIsOver() {
    assertTrue(run(SegmentPaceTest::usual, 0) >= (SEGMENTS - 1) * ENQUEUING_NANOS);
    assertEquals(0, earliestNanos);
  }

  @Test
  void laterRuns_leaveNoGapAndAreEarlyByTheLeadAtMost() {
    run(SegmentPaceTest::usual, 0);
    for (int run = 0; run < 20; run++) {
      assertEquals(0, run(SegmentPaceTest::usual, 0), "run " + run);
      assertTrue(earliestNanos > 0 && earliestNanos < SegmentPace.LEAD_NANOS);
    }
  }

  @Test
  void runThatStoodAtItsGate_isInTimeAgainBehindIt() {
    run(SegmentPaceTest::usual, 0);
    run(SegmentPaceTest::usual, 3);
    assertEquals(0, run(SegmentPaceTest::usual, 0));
    assertTrue(earliestNanos < SegmentPace.LEAD_NANOS);
  }

  @Test
  void segmentThatTakesLongOnce_isInTimeAgainSoon() {
    run(SegmentPaceTest::usual, 0);
    run(segment -> segment == 4 ? 1_500_000 : usual(segment), 0);
    run(SegmentPaceTest::usual, 0);
    run(SegmentPaceTest::usual, 0);
    assertEquals(0, run(SegmentPaceTest::usual, 0));
    assertTrue(earliestNanos < SegmentPace.LEAD_NANOS);
  }

  /** Nobody knows when its weights come. */
  @Test
  void segmentThatWaitsForWeights_isWaitedForToItsEndAndTeachesNothing() {
    run(SegmentPaceTest::usual, 0);
    pace.begin();
    pace.waits();
    enqueue(5 * SEGMENT_NANOS);
    assertTrue(pace.await(0, ends.size() - 1, LIMIT_NANOS));
    assertTrue(isOver(ends.size() - 1));
    assertEquals(0, run(SegmentPaceTest::usual, 0));
  }

  @Test
  void segmentsBecomeShorter_areInTimeAgainAfterSomeRuns() {
    run(SegmentPaceTest::usual, 0);
    for (int run = 0; run < 30; run++) {
      run(segment -> usual(segment) / 2, 0);
    }
    assertEquals(0, run(segment -> usual(segment) / 2, 0));
  }

  @Test
  void segmentThatNeverEnds_isWaitedForUntilTheLimit() {
    pace.begin();
    enqueue(10 * LIMIT_NANOS);
    assertFalse(pace.await(0, 0, LIMIT_NANOS));
    assertTrue(now >= LIMIT_NANOS && now < 2 * LIMIT_NANOS);
  }
}
