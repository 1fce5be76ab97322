package io.pipelane.lanes.process.channel;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * The word of shared memory that says whether the run of a lane may go on at its next gate, how
 * fast, or not at all. The server writes it; the worker that launches the run's segments heeds and
 * answers it.
 */
public final class GoWord {
  /*
   * The server's word holds the run back, by ten-thousandths of its speed. It is 0 to go on, ALL to
   * stop, and between them asks for pauses in proportion to the segment before. ENDS stays until
   * the next run; a worker that ends says it for itself. Beside the word lies when online work is
   * expected, by the system's clock, which both sides read. A run that may go on waits for that
   * work where its next segment would run into it.
   *
   * The worker's word says whether the run stands. A worker that pauses shows that it is alive. One
   * that is stopped is not asked to, as it has no time of its own by which to go on.
   *
   * Of the server's threads one writes at a time, under the monitor, so that none takes ENDS back.
   */
  static final long BYTES = 2 * Signal.BYTES;

  private static final int ALL = 10_000;
  private static final int ENDS = ALL + 1;
  private static final long LONGEST_PAUSE_NANOS = 20_000_000;

  /** Behind the server's word, and like it the server's to write. */
  private static final long EXPECTED_FROM = 16;

  private static final long EXPECTED_UNTIL = 24;
  private static final long NOT_EXPECTED = 0;
  private static final VarHandle NANOS = JAVA_LONG.varHandle();

  private final MemorySegment words;
  private final Signal heldBack;
  private final Signal stands;
  private final Progress progress;
  private long wentOnNanos;
  private volatile boolean isOver; // In a worker that ends.

  GoWord(MemorySegment words, Progress progress) {
    this.words = words;
    this.heldBack = new Signal(words.asSlice(0, Signal.BYTES));
    this.stands = new Signal(words.asSlice(Signal.BYTES, Signal.BYTES));
    this.progress = progress;
  }

  /** Says, in the server, that the next run may go on: none is under way. */
  public synchronized void begin() {
    expect(0, 0);
    set(0);
  }

  /**
   * Says, in the server, when online work is expected: a segment that would run into it, taking as
   * long as the one before, waits until it has come, or is late.
   *
   * @param fromNanos from now
   * @param untilNanos from now, after which it is not waited for; 0 where none is expected
   */
  public void expect(long fromNanos, long untilNanos) {
    long now = System.nanoTime();
    NANOS.setVolatile(words, EXPECTED_UNTIL, NOT_EXPECTED);
    if (untilNanos > 0) {
      NANOS.setVolatile(words, EXPECTED_FROM, now + fromNanos);
      NANOS.setVolatile(words, EXPECTED_UNTIL, now + untilNanos);
    }
  }

  /** Says, in the server, that the run is to end at its next gate, whatever else was said of it. */
  public synchronized void end() {
    set(ENDS);
  }

  /**
   * Has, in a worker that ends, this run and all that come after it end at their next gate,
   * whatever the server says. It may say so at the same time, and be the last whose word a run
   * sleeps on: so this is to be called again until the run has ended.
   */
  public void endHere() {
    isOver = true;
    end();
  }

  /**
   * Says, in the server, what the run may have of its own speed; it heeds that at its next gate.
   *
   * @param share 0 stops it, 1 lets it go on as fast as it can
   */
  public synchronized void allow(double share) {
    int word = share <= 0 ? ALL : Math.clamp(Math.round((1 - share) * ALL), 0, ALL - 1);
    if (heldBack.value() != ENDS) {
      set(word);
    }
  }

  private void set(int word) {
    if (word != heldBack.value()) {
      heldBack.set(word);
    }
  }

  /** Whether the run has been told to stop. */
  public boolean isStopped() {
    return heldBack.value() == ALL;
  }

  /** Whether the run was told to stop and has come to its gate, by what the worker says. */
  public boolean isHeld() {
    return isStopped() && stands();
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
   * @throws StatusException {@link Status#CANCELLED} when it is to end
   */
  public void pass(int segment, long awakeNanos) {
    long now = System.nanoTime();
    long segmentNanos = segment == 0 ? 0 : now - wentOnNanos;
    if (leftNanos(heldBack.value(), segmentNanos, now, now) > 0) {
      standStill(segmentNanos, now, awakeNanos);
      now = System.nanoTime();
    }
    if (isOver || heldBack.value() == ENDS) {
      throw new StatusException(Status.CANCELLED, "the server has ended the run");
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
      long left = leftNanos(word, segmentNanos, since, since);
      while (left > 0) {
        progress.step();
        boolean isStopped = word == ALL;
        boolean _ =
            heldBack.awaitChange(
                word,
                isStopped ? left : Math.min(left, LONGEST_PAUSE_NANOS),
                isStopped ? awakeNanos : 0);
        word = heldBack.value();
        left = leftNanos(word, segmentNanos, since, System.nanoTime());
      }
    } finally {
      stands.set(0);
    }
  }

  /** How long the run has to stand, having come to its gate at some time. */
  private long leftNanos(int word, long segmentNanos, long since, long now) {
    if (isOver) {
      return 0;
    }
    return switch (word) {
      case ALL -> Signal.FOREVER;
      case ENDS -> 0;
      default -> {
        long pause = (long) ((double) segmentNanos * word / (ALL - word)) - (now - since);
        yield pause > 0 ? pause : expectedNanos(segmentNanos, now);
      }
    };
  }

  private long expectedNanos(long segmentNanos, long now) {
    long until = (long) NANOS.getVolatile(words, EXPECTED_UNTIL);
    if (until == NOT_EXPECTED || segmentNanos == 0) {
      return 0;
    }
    long from = (long) NANOS.getVolatile(words, EXPECTED_FROM);
    boolean isWhole = until == (long) NANOS.getVolatile(words, EXPECTED_UNTIL);
    return isWhole && from - now <= segmentNanos ? until - now : 0;
  }
}
