package io.pipelane.lanes.process.channel;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * The layout of a ring of messages in shared memory, from one thread to one other.
 *
 * <p>Positions count bytes since the beginning and only grow; a message is its length, its type and
 * its body, padded to whole words, and may go around the end.
 */
final class RingMemory {
  static final int CAPACITY = 64 << 10;

  /** The longest body. */
  static final int MAXIMUM_BODY = CAPACITY / 2;

  static final int HEADER = 2 * Integer.BYTES;
  static final long BYTES = 192 + CAPACITY;

  private static final long WRITTEN = 0; // the writer's position
  private static final long SIGNAL = 64; // raised by the writer
  private static final long READ = 128; // the reader's position
  private static final long DATA = 192;

  static final VarHandle POSITION = JAVA_LONG.varHandle();

  final MemorySegment written;
  final MemorySegment read;
  final MemorySegment data;
  final Signal signal;

  RingMemory(MemorySegment memory) {
    written = memory.asSlice(WRITTEN, Long.BYTES);
    signal = new Signal(memory.asSlice(SIGNAL, Signal.BYTES));
    read = memory.asSlice(READ, Long.BYTES);
    data = memory.asSlice(DATA, CAPACITY);
  }

  /** What a message with so long a body takes. */
  static int frameBytes(int bodyBytes) {
    return HEADER + ((bodyBytes + 7) & -8);
  }

  static long offset(long position) {
    return position & (CAPACITY - 1);
  }
}
