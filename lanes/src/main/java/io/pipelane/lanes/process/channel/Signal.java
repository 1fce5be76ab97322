package io.pipelane.lanes.process.channel;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * A number in shared memory that one thread sets and one thread, of another process perhaps, waits
 * for.
 */
public final class Signal {
  /*
   * There are two words: the value, written by the one, and whether somebody sleeps, written by the
   * other. The one writes the value, then reads the other word. The other writes that word, then
   * reads the value (the system call does, atomically with going to sleep). So no wake-up is lost,
   * and where nobody sleeps there is no system call.
   */

  static final long BYTES = 64;

  /** A wait without an end. */
  public static final long FOREVER = Long.MAX_VALUE;

  /** What a wait lasts that is worth staying awake for: less than a wake-up costs. */
  private static final long SPIN_NANOS = 20_000;

  private static final long ASLEEP = Integer.BYTES;
  private static final VarHandle WORD = JAVA_INT.varHandle();

  private final MemorySegment words;
  private final MemorySegment timespec = Arena.ofAuto().allocate(16, 8);

  Signal(MemorySegment words) {
    this.words = words;
  }

  public int value() {
    return (int) WORD.getVolatile(words, 0L);
  }

  /** Sets the value and wakes who sleeps. */
  public void set(int value) {
    WORD.setVolatile(words, 0L, value);
    if ((int) WORD.getVolatile(words, ASLEEP) != 0) {
      Futex.wake(words);
    }
  }

  /** Changes the value and wakes who sleeps. */
  void raise() {
    set(value() + 1);
  }

  /**
   * Waits until the value is another one, awake at first; blocks a platform thread.
   *
   * @return false when the time was over before
   */
  public boolean awaitChange(int seen, long nanos) {
    return awaitChange(seen, nanos, 0);
  }

  /**
   * The same, staying awake longer perhaps.
   *
   * @param awakeNanos how long at least
   */
  public boolean awaitChange(int seen, long nanos, long awakeNanos) {
    long begin = System.nanoTime();
    long awake = Math.min(nanos, Math.max(awakeNanos, SPIN_NANOS));
    while (System.nanoTime() - begin < awake) {
      if (value() != seen) {
        return true;
      }
      Thread.onSpinWait();
    }
    WORD.setVolatile(words, ASLEEP, 1);
    try {
      long left = nanos - (System.nanoTime() - begin);
      while (value() == seen && left > 0) {
        Futex.await(words, seen, left, timespec);
        left = nanos - (System.nanoTime() - begin);
      }
    } finally {
      WORD.setVolatile(words, ASLEEP, 0);
    }
    return value() != seen;
  }
}
