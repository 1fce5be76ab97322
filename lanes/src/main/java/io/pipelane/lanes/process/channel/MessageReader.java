package io.pipelane.lanes.process.channel;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;

/**
 * A reader that takes a message apart; what is missing or out of bounds is a {@link
 * ProtocolException}.
 */
final class MessageReader {
  private final MemorySegment body;
  private long position;

  MessageReader(MemorySegment body) {
    this.body = body;
  }

  int integer() {
    return body.get(JAVA_INT_UNALIGNED, advance(Integer.BYTES));
  }

  /** A number of things or bytes that may be at most so large. */
  int count(int maximum) {
    int value = integer();
    if (value < 0 || value > maximum) {
      throw new ProtocolException("%d is not from 0 to %d".formatted(value, maximum));
    }
    return value;
  }

  /** A size or place: not negative. */
  long size() {
    long value = number();
    if (value < 0) {
      throw new ProtocolException("a size of " + value);
    }
    return value;
  }

  long number() {
    return body.get(JAVA_LONG_UNALIGNED, advance(Long.BYTES));
  }

  String text() {
    int length = count((int) (body.byteSize() - position));
    byte[] bytes = body.asSlice(advance(length), length).toArray(JAVA_BYTE);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** Checks that nothing is left over. */
  void end() {
    if (position != body.byteSize()) {
      throw new ProtocolException(
          "a message has %d bytes too many".formatted(body.byteSize() - position));
    }
  }

  private long advance(long bytes) {
    if (bytes > body.byteSize() - position) {
      throw new ProtocolException("a message of %d bytes is too short".formatted(body.byteSize()));
    }
    long before = position;
    position += bytes;
    return before;
  }
}
