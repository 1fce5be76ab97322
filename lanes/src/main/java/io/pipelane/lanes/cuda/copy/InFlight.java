package io.pipelane.lanes.cuda.copy;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The copies of pinned weights that the copy stream has been given and has not done: they are kept
 * few. Those of other weights are as many as {@link StagingBuffers} has buffers. Belongs to the
 * copy thread.
 */
public final class InFlight {
  /*
   * A device's copies to it pass one engine, first come, first served across streams. A request's
   * inputs would wait for all the weights that were enqueued before them, a whole model's. So what
   * is enqueued at a time takes no longer than a fraction of a millisecond, and inputs that come
   * meanwhile are enqueued on the same stream, behind that. A transfer begins with the least, as
   * the inputs of the request that caused it come at once. More in flight bridges the mapping of
   * pages.
   */

  /** A transfer's first piece. */
  static final long FIRST_PIECE_BYTES = 2L << 20;

  private static final long MOST_BYTES = 16L << 20;
  private static final int GROWTH_DIVISOR = 4;
  private static final int PIECES = 2;

  /** What is enqueued at once when nothing is in flight. */
  public static final long LEAST_BYTES = PIECES * FIRST_PIECE_BYTES;

  private static final long TAKING_TURNS_BYTES = 3 * LentLink.PIECE_BYTES;

  private record Piece(int mark, long bytes) {}

  private final Progress progress;
  private final Deque<Piece> pieces = new ArrayDeque<>();
  private long mostBytes = MOST_BYTES;
  private long mostPieceBytes = MOST_BYTES;
  private long bytes;
  private long sentBytes;

  public InFlight(Progress progress) {
    this.progress = progress;
  }

  /** From now on pieces stay small, and few: several links take turns. */
  public void takeTurns() {
    mostPieceBytes = LentLink.PIECE_BYTES;
    mostBytes = TAKING_TURNS_BYTES;
  }

  /**
   * Waits, on the processor, until a piece of some copy may be enqueued.
   *
   * @return the piece's size, at most what remains
   * @throws io.pipelane.lanes.cuda.driver.CudaException when an earlier piece has failed
   */
  public long awaitRoom(long remainingBytes) {
    long piece = room(remainingBytes);
    while (piece == 0) {
      progress.require(pieces.getFirst().mark);
      piece = room(remainingBytes);
    }
    return piece;
  }

  /**
   * What may be enqueued now of so many bytes that remain.
   *
   * @return a piece's size, or 0
   * @throws io.pipelane.lanes.cuda.driver.CudaException when an earlier piece was found to have
   *     failed
   */
  public long room(long remainingBytes) {
    while (!pieces.isEmpty() && progress.reached(pieces.getFirst().mark)) {
      forgetOldest();
    }
    if (pieces.isEmpty()) {
      sentBytes = 0;
    }
    long limit = Math.min(mostBytes, LEAST_BYTES + sentBytes / GROWTH_DIVISOR);
    long piece = Math.min(remainingBytes, Math.min(mostPieceBytes, limit / PIECES));
    return pieces.isEmpty() || bytes + piece <= limit ? piece : 0;
  }

  /** Counts a piece that has just been enqueued. */
  public void add(long pieceBytes) {
    pieces.addLast(new Piece(progress.mark(), pieceBytes));
    bytes += pieceBytes;
    sentBytes += pieceBytes;
  }

  private void forgetOldest() {
    bytes -= pieces.removeFirst().bytes;
  }
}
