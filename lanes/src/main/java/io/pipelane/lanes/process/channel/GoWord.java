package io.pipelane.lanes.process.channel;

import java.lang.foreign.MemorySegment;

/**
 * Whether the run of a lane may go on at its next gate, and how fast: written by the server, heeded
 * and answered by the worker that launches the run's segments.
 */
public final class GoWord {
  /*
   * The server's word is what the run is held back by, in ten-thousandths of its speed: 0 to go on,
   * ALL to stop, and between them pauses in proportion to the segment before. The worker's word says
   * whether the run stands. A worker that pauses shows that it is alive; one that is stopped is not
   * asked to, as it has no time of its own by which to go on.
   */
  static final long BYTES = 2 * Signal.BYTES;

  private static final int ALL = 10_000;
  private static final long LONGEST_PAUSE_NANOS = 20_000_000;

  private final Signal heldBack;
  private final Signal stands;
  private final Progress progress;
  private long wentOnNanos;

  GoWord(MemorySegment words, Progress progress) {
    this.heldBack = new Signal(words.asSlice(0, Signal.BYTES));
    this.stands = new Signal(words.asSlice(Signal.BYTES, Signal.BYTES));
    this.progress = progress;
  }

  /**
   * Says, in the server, what the run may have of its own speed; it heeds that at its next gate.
   *
   * @param share 0 stops it, 1 lets it go on as fast as it can
   */
  public void allow(double share) {
    int word = share <= 0 ? ALL : Math.clamp(Math.round((1 - share) * ALL), 0, ALL - 1);
    if (word != heldBack.value()) {
      heldBack.set(word);
    }
  }

  /** Whether the run has been told to stop. */
  public boolean isStopped() {
    return heldBack.value() >= ALL;
  }

  /** Whether the run stands at a gate, by what the worker says. */
  public boolean stands() {
    return stands.value() != 0;
  }

  /**
   * Waits, in the worker, until the run may begin its next segment; blocks a platform thread.
   *
   * @param segment counted from 0
   * @param awakeNanos how long at least a run that is stopped stays awake, as online work is short
   *     and a device has nothing to do until the thread is back
   */
  public void pass(int segment, long awakeNanos) {
    long now = System.nanoTime();
    if (heldBack.value() != 0) {
      standStill(segment == 0 ? 0 : now - wentOnNanos, now, awakeNanos);
      now = System.nanoTime();
    }
    wentOnNanos = now;
  }

  /** The same, falling asleep soon. */
  public void pass(int segment) {
    pass(segment, 0);
  }

  private void standStill(long segmentNanos, long since, long awakeNanos) {
    stands.set(1);
    try {
      int word = heldBack.value();
      long left = pauseNanos(word, segmentNanos);
      while (left > 0) {
        progress.step();
        boolean isStopped = word >= ALL;
        boolean _ =
            heldBack.awaitChange(
                word,
                isStopped ? left : Math.min(left, LONGEST_PAUSE_NANOS),
                isStopped ? awakeNanos : 0);
        word = heldBack.value();
        left = pauseNanos(word, segmentNanos) - (System.nanoTime() - since);
      }
    } finally {
      stands.set(0);
    }
  }

  private static long pauseNanos(int word, long segmentNanos) {
    return word >= ALL ? Signal.FOREVER : (long) ((double) segmentNanos * word / (ALL - word));
  }
}
