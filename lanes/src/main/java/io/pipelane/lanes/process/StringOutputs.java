package io.pipelane.lanes.process;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;

import io.pipelane.lanes.process.channel.ProtocolException;
import io.pipelane.runtime.Shape;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;

/** Outputs of strings, whose lengths another process has written. */
final class StringOutputs {
  private StringOutputs() {}

  /**
   * A copy that nobody else writes to.
   *
   * @throws ProtocolException when it does not hold as many strings as its shape says
   */
  static MemorySegment copied(MemorySegment shared, Shape shape) {
    MemorySegment copy = MemorySegment.ofArray(shared.toArray(JAVA_BYTE));
    long position = 0;
    for (long i = 0; i < shape.elements(); i++) {
      long left = copy.byteSize() - position - Integer.BYTES;
      int length =
          left < 0 ? -1 : copy.get(JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN), position);
      if (length < 0 || length > left) {
        throw new ProtocolException("string %d leaves its output".formatted(i));
      }
      position += Integer.BYTES + length;
    }
    if (position != copy.byteSize()) {
      throw new ProtocolException("an output has more than its strings");
    }
    return copy;
  }
}
