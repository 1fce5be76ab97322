package io.pipelane.lanes.cpu;

import io.pipelane.modelstore.WeightSource;
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
   * Carries pieces until there are none left.
   *
   * @param sinceNanos when the link was asked to, by its clock
   * @param borrowed whether the link is another device's
   * @param ended looked at between pieces
   */
  void carry(LinkThrottle link, long sinceNanos, boolean borrowed, BooleanSupplier ended) {
    long at = ended.getAsBoolean() ? -1 : take();
    while (at >= 0) {
      long piece = Math.min(PIECE_BYTES, bytes - at);
      Throwable reason = null;
      try {
        range.fill(source, sourceOffset + at, rangeOffset + at, piece);
        link.pace(sinceNanos, piece, ended);
      } catch (Throwable e) {
        reason = e;
      }
      done(borrowed ? piece : 0, reason);
      at = ended.getAsBoolean() ? -1 : take();
    }
  }

  private synchronized long take() {
    if (next >= bytes || failure != null) {
      return -1;
    }
    long at = next;
    next += PIECE_BYTES;
    onTheWay++;
    return at;
  }

  private synchronized void done(long borrowed, @Nullable Throwable reason) {
    borrowedBytes += borrowed;
    failure = failure == null ? reason : failure;
    onTheWay--;
    notifyAll();
  }

  /**
   * Blocks until no piece is on its way; those that nobody has taken are taken no more.
   *
   * @return why it failed, or null
   */
  synchronized @Nullable Throwable await() {
    next = bytes;
    while (onTheWay > 0) {
      try {
        wait();
      } catch (InterruptedException e) {
        // Nobody has a reason to interrupt an engine's thread; the copy goes on.
      }
    }
    return failure;
  }

  /** What came in over other devices' links. */
  synchronized long borrowedBytes() {
    return borrowedBytes;
  }
}
