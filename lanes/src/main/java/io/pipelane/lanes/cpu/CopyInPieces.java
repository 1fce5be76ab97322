package io.pipelane.lanes.cpu;

import io.pipelane.modelstore.WeightSource;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One copy whose pieces several links carry, each at its rate. Safe for any thread; its owner waits
 * for the end.
 */
final class CopyInPieces {
  /** Short enough for a lender to be back at its own work soon. */
  static final long PIECE_BYTES = 512 << 10;

  private final WeightSource source;
  private final long sourceOffset;
  private final CpuAddressRange range;
  private final long rangeOffset;
  private final long bytes;
  private final Deque<Long> broughtBack = new ArrayDeque<>();
  private final Map<LinkThrottle, Throwable> failedLinks = new HashMap<>();
  private long next;
  private int onTheWay;
  private long borrowedBytes;
  private @Nullable Throwable failure;

  CopyInPieces(
      WeightSource source, long sourceOffset, CpuAddressRange range, long rangeOffset, long bytes) {
    this.source = source;
    this.sourceOffset = sourceOffset;
    this.range = range;
    this.rangeOffset = rangeOffset;
    this.bytes = bytes;
  }

  /**
   * Carries pieces over the device's own link until there are none left, those included that others
   * have failed to carry; blocks until none is on its way.
   *
   * @param sinceNanos when the copy was asked for, by the link's clock
   * @param ended looked at between pieces
   * @return why the copy has failed, or null
   */
  @Nullable Throwable carryAll(LinkThrottle link, long sinceNanos, BooleanSupplier ended) {
    long at = ended.getAsBoolean() ? takeNoMore() : takeAny();
    while (at >= 0) {
      done(0, carry(link, sinceNanos, at, ended));
      at = ended.getAsBoolean() ? takeNoMore() : takeAny();
    }
    return failure();
  }

  /**
   * Carries pieces over another device's link until there are none left, or one fails, which is
   * left to the copy's own device then.
   *
   * @param sinceNanos when the link was asked to, by its clock
   * @param ended looked at between pieces
   */
  void help(LinkThrottle link, long sinceNanos, BooleanSupplier ended) {
    long at = ended.getAsBoolean() ? -1 : take();
    while (at >= 0) {
      Throwable reason = carry(link, sinceNanos, at, ended);
      if (reason != null) {
        bringBack(at, link, reason);
        return;
      }
      done(bytesAt(at), null);
      at = ended.getAsBoolean() ? -1 : take();
    }
  }

  private @Nullable Throwable carry(
      LinkThrottle link, long sinceNanos, long at, BooleanSupplier ended) {
    try {
      range.fill(source, sourceOffset + at, rangeOffset + at, bytesAt(at));
      link.pace(sinceNanos, bytesAt(at), ended);
      return null;
    } catch (Throwable e) { // A source may fail as it likes; the thread must live on.
      return e;
    }
  }

  private long bytesAt(long at) {
    return Math.min(PIECE_BYTES, bytes - at);
  }

  /** A piece that nobody has; -1 where there is none. */
  private synchronized long take() {
    if (next >= bytes || failure != null) {
      return -1;
    }
    long at = next;
    next += PIECE_BYTES;
    onTheWay++;
    return at;
  }

  /** The same for the copy's own device, which waits for those that may be brought back. */
  private synchronized long takeAny() {
    long at = take();
    if (at >= 0) {
      return at;
    }
    awaitUntil(() -> onTheWay == 0 || !broughtBack.isEmpty());
    if (failure != null || broughtBack.isEmpty()) {
      return takeNoMore();
    }
    onTheWay++;
    return broughtBack.removeFirst();
  }

  /** Waits for the pieces on their way; there will be no others. */
  private synchronized long takeNoMore() {
    next = bytes;
    awaitUntil(() -> onTheWay == 0);
    return -1;
  }

  private synchronized void awaitUntil(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      try {
        wait();
      } catch (InterruptedException e) {
        // Nobody has a reason to interrupt an engine's thread; the copy goes on.
      }
    }
  }

  private synchronized void done(long borrowed, @Nullable Throwable reason) {
    borrowedBytes += borrowed;
    failure = failure == null ? reason : failure;
    onTheWay--;
    notifyAll();
  }

  private synchronized void bringBack(long at, LinkThrottle link, Throwable reason) {
    broughtBack.add(at);
    failedLinks.put(link, reason);
    onTheWay--;
    notifyAll();
  }

  private synchronized @Nullable Throwable failure() {
    return failure;
  }

  /** Why another device's link has failed to carry a piece, or null. */
  synchronized @Nullable Throwable failureOf(LinkThrottle link) {
    return failedLinks.get(link);
  }

  /** What came in over other devices' links. */
  synchronized long borrowedBytes() {
    return borrowedBytes;
  }
}
