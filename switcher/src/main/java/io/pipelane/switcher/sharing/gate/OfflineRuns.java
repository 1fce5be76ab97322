package io.pipelane.switcher.sharing.gate;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The offline runs of a device that have begun and not ended, and whether any of them has computed
 * since somebody looked. Safe for any thread.
 */
public final class OfflineRuns {
  private static final long UNDER_WAY = -1;

  private final List<OfflineRun> inTurns = new CopyOnWriteArrayList<>();
  private volatile @Nullable OfflineRun inShare;
  private final AtomicLong goes = new AtomicLong();
  private final LongAdder ended = new LongAdder();
  private final LongAdder heldNanos = new LongAdder();
  private final LongAdder madeWay = new LongAdder();

  /** One begins that takes turns with others. */
  void begin(OfflineRun run) {
    inTurns.add(run);
    goesOn();
  }

  /** It has ended. */
  void end(OfflineRun run) {
    inTurns.remove(run);
    ended.increment();
  }

  /** One begins in the lane that keeps to a share; there is one at a time. */
  void beginInShare(OfflineRun run) {
    inShare = run;
    goesOn();
  }

  /** It has ended. */
  void endInShare() {
    inShare = null;
    ended.increment();
  }

  /**
   * One that stood goes on; said before it does. One that begins says so when it is known here: a
   * mark from before differs then, and one from after finds it under way.
   */
  public void goesOn() {
    goes.incrementAndGet();
  }

  /** One was held at a gate. */
  public void held(long nanos) {
    heldNanos.add(nanos);
  }

  /** One has ended before its time, to begin anew, as others needed its memory. */
  public void madeWay() {
    madeWay.increment();
  }

  private Stream<OfflineRun> all() {
    return Stream.concat(Stream.ofNullable(inShare), inTurns.stream());
  }

  /** How many take turns. */
  int inTurns() {
    return inTurns.size();
  }

  /** Whether there is none. */
  public boolean isEmpty() {
    return all().findAny().isEmpty();
  }

  /** Whether one computes now, or may at any time; asked with every online run. */
  public boolean isUnderWay() {
    @Nullable OfflineRun beside = inShare;
    if (beside != null && !beside.stands()) {
      return true;
    }
    for (OfflineRun run : inTurns) {
      if (!run.stands()) {
        return true;
      }
    }
    return false;
  }

  /** What {@link #ranSince} is asked by; taken when an online run begins. */
  public long mark() {
    long before = goes.get();
    return isUnderWay() ? UNDER_WAY : before;
  }

  /** Whether one has computed since a mark was taken, or then. */
  public boolean ranSince(long mark) {
    return ranBetween(mark, goes.get());
  }

  /** The same until a later mark was taken. */
  public static boolean ranBetween(long mark, long later) {
    return mark == UNDER_WAY || later != mark;
  }

  /** What they have come to since the start. */
  public Counts counts() {
    return new Counts((int) all().count(), ended.sum(), heldNanos.sum(), madeWay.sum());
  }

  /**
   * The figures of offline runs since the start.
   *
   * @param running that have begun and not ended
   * @param ended that have ended
   * @param heldNanos that they were held at gates, all together
   * @param madeWay that ended before their time, as others needed their memory
   */
  public record Counts(int running, long ended, long heldNanos, long madeWay) {}
}
