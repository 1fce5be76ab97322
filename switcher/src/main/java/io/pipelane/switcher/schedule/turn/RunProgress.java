package io.pipelane.switcher.schedule.turn;

import io.pipelane.config.StatusException;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.sharing.gate.OfflineRuns;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The progress of a run, and how long it still needs. Belongs to the run's thread, and where it is
 * paused to whoever holds the turns' lock.
 */
public final class RunProgress {
  /** What a run may still take that comes to its end though others wait for its memory. */
  private static final long NEARLY_DONE_NANOS = 1_000_000;

  /** Endings, after which a run comes to its end, however long that takes. */
  private static final int MOST_ENDINGS = 16;

  private final QueuedRequest request;
  private final long expectedNanos;
  private final long beginNanos;
  private volatile int segments; // These two are looked at while the run goes on.
  private volatile int segment;
  private long waitedNanos;
  private boolean blocked;
  private long blockedSinceNanos;
  private long blockedNanos;
  private volatile boolean isToMakeWay;
  private @Nullable Long computedMark;

  /**
   * A run that begins now.
   *
   * @param expectedNanos what it is thought to take; 0 for one of which nothing is known
   */
  RunProgress(QueuedRequest request, long expectedNanos, long nowNanos) {
    this.request = request;
    this.expectedNanos = expectedNanos;
    this.beginNanos = nowNanos;
  }

  QueuedRequest request() {
    return request;
  }

  /** It has computed elsewhere what it has to, as of a mark of the offline runs. */
  void computedAt(long mark) {
    computedMark = mark;
  }

  /** It is made once more, if it has been before. */
  public void beginsAnew() {
    if (computedMark != null) {
      computedMark = null;
      request.handler().computesAgain();
    }
  }

  /** Whether offline work has computed since a mark, or as long as the run itself did. */
  public boolean offlineRanSince(long mark, OfflineRuns runs) {
    return computedMark == null ? runs.ranSince(mark) : OfflineRuns.ranBetween(mark, computedMark);
  }

  /** Tells into how many segments gates cut the run. */
  public void segments(int count) {
    segments = count;
  }

  /** The run has come to a segment. */
  void at(int reached) {
    segment = reached;
  }

  /** The run has waited for others. */
  void waited(long nanos) {
    waitedNanos += nanos;
  }

  /**
   * The run waits for what others hold, memory or a lane, unless it does already; under the turns'
   * lock, as the next is.
   */
  void blocks(long nowNanos) {
    if (!blocked) {
      blocked = true;
      blockedSinceNanos = nowNanos;
    }
  }

  /** It has what it waited for. */
  void unblocked(long nowNanos) {
    if (blocked) {
      blocked = false;
      blockedNanos += nowNanos - blockedSinceNanos;
    }
  }

  /** Whether the run waits for what others hold, so that it comes to no gate before it has that. */
  boolean isBlocked() {
    return blocked;
  }

  /**
   * How long the run has been under way, but for waiting for others or for what they hold. Waiting
   * for its own weights counts, as it does in what is expected.
   */
  public long hadNanos(long nowNanos) {
    long untilNanos = blocked ? blockedSinceNanos : nowNanos;
    return untilNanos - beginNanos - waitedNanos - blockedNanos;
  }

  /** How long the run has waited for its turn to compute. */
  public long waitedNanos() {
    return waitedNanos;
  }

  /** What the run still needs at least. */
  long leastRemainingNanos(long nowNanos) {
    return Math.max(0, request.leastNanos() - hadNanos(nowNanos));
  }

  /**
   * Has the run end at its next gate, to begin anew, unless it is as good as done. One that has
   * ended so before is given more time, twice as much each time, and so comes to its end.
   */
  void makeWay(long nowNanos) {
    isToMakeWay = false;
    int endings = request.endings();
    boolean isKnown = request.usualNanos() > 0 || segment > 0; // A stall alone says nothing.
    boolean isNearlyDone = isKnown && remainingNanos(nowNanos) <= NEARLY_DONE_NANOS << endings;
    if (endings < MOST_ENDINGS && !isNearlyDone && !request.isLeaving()) {
      request.makeWay();
    }
  }

  /** The same once the run is at a gate; for any thread. */
  void makeWayAtGate() {
    isToMakeWay = true;
  }

  /**
   * Ends the run where nobody wants it any more, or it makes way; at its gates.
   *
   * @throws StatusException then
   */
  void requireGoesOn(LongSupplier nanoClock) {
    if (isToMakeWay) {
      makeWay(nanoClock.getAsLong());
    }
    request.requireWanted();
  }

  /** The run is paused, which is as good as a gate. */
  void pauses(long nowNanos) {
    if (isToMakeWay) {
      makeWay(nowNanos);
    }
  }

  /**
   * What the run still needs: what was expected, less what it has had. One that is longer than
   * expected, or of which nothing was, goes on as it has come so far; but the former needs no more
   * than another like it, which would not be done sooner.
   */
  long remainingNanos(long nowNanos) {
    long had = hadNanos(nowNanos);
    long left = expectedNanos - had;
    int reached = segment; // It may begin anew meanwhile.
    if (left > 0 || reached == 0) {
      return Math.max(0, left);
    }
    long asSoFar = had / reached * (segments - reached);
    return expectedNanos == 0 ? asSoFar : Math.min(expectedNanos, asSoFar);
  }
}
