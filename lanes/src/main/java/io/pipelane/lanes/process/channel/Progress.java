package io.pipelane.lanes.process.channel;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/** The progress of a run, written by the worker at each gate, for a server that watches it. */
public final class Progress {
  static final long BYTES = 64;

  private static final long WAITS = Long.BYTES;
  private static final VarHandle WORD = JAVA_LONG.varHandle();

  private final MemorySegment words;

  Progress(MemorySegment words) {
    this.words = words;
  }

  /** Counts steps since the worker began; it changes as long as the worker gets on. */
  public long steps() {
    return (long) WORD.getAcquire(words, 0L);
  }

  public void step() {
    WORD.setRelease(words, 0L, steps() + 1);
  }

  /** Whether what was asked last has not begun, as the worker does something else before. */
  public boolean waits() {
    return (long) WORD.getAcquire(words, WAITS) != 0;
  }

  public void waits(boolean so) {
    WORD.setRelease(words, WAITS, so ? 1L : 0L);
  }
}
