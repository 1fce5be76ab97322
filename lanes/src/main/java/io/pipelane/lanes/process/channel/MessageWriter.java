package io.pipelane.lanes.process.channel;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;

/** A writer that puts a message's fields together, in the order in which they are read. */
final class MessageWriter {
  private final MemorySegment buffer = Arena.ofAuto().allocate(RingMemory.MAXIMUM_BODY, 8);
  private long position;

  /** Begins a new message. */
  MessageWriter begin() {
    position = 0;
    return this;
  }

  MemorySegment body() {
    return buffer.asSlice(0, position);
  }

  /**
   * Appends a number.
   *
   * @throws IndexOutOfBoundsException when the message becomes too long
   */
  MessageWriter number(int value) {
    buffer.set(JAVA_INT_UNALIGNED, position, value);
    position += Integer.BYTES;
    return this;
  }

  MessageWriter number(long value) {
    buffer.set(JAVA_LONG_UNALIGNED, position, value);
    position += Long.BYTES;
    return this;
  }

  /** Appends a text, cut off where it is too long for a message. */
  MessageWriter text(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    int length = (int) Math.min(bytes.length, buffer.byteSize() - position - Integer.BYTES);
    number(length);
    MemorySegment.copy(MemorySegment.ofArray(bytes), 0, buffer, position, length);
    position += length;
    return this;
  }
}
