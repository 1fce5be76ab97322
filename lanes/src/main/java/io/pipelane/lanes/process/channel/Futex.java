package io.pipelane.lanes.process.channel;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.runtime.NativeFunction;
import java.lang.foreign.MemorySegment;

/** Linux's wait for a word of shared memory to change, between processes (x86-64 and AArch64). */
final class Futex {
  private static final long SYS_FUTEX = System.getProperty("os.arch").equals("aarch64") ? 98 : 202;
  private static final long WAIT = 0;
  private static final long WAKE = 1;
  private static final long ALL = Integer.MAX_VALUE;

  private static final NativeFunction SYSCALL = NativeFunction.of("syscall");

  private Futex() {}

  /**
   * Sleeps until woken, or until a time is over, unless the word has another value than expected.
   * May return early for no reason; blocks a platform thread.
   *
   * @param timespec room for the time
   */
  static void await(MemorySegment word, int expected, long nanos, MemorySegment timespec) {
    timespec.set(JAVA_LONG, 0, nanos / 1_000_000_000);
    timespec.set(JAVA_LONG, 8, nanos % 1_000_000_000);
    long _ =
        SYSCALL.call(
            SYS_FUTEX,
            word.address(),
            WAIT,
            Integer.toUnsignedLong(expected),
            timespec.address(),
            0,
            0);
  }

  /** Wakes everybody who waits for the word. */
  static void wake(MemorySegment word) {
    long _ = SYSCALL.call(SYS_FUTEX, word.address(), WAKE, ALL, 0, 0, 0);
  }
}
