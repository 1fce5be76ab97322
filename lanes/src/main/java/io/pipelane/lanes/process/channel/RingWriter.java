package io.pipelane.lanes.process.channel;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;

/** The writing end of a ring. Belongs to one thread. */
final class RingWriter {
  private final RingMemory ring;
  private long position;

  /** Takes over a ring that nothing was written to. */
  RingWriter(MemorySegment memory) {
    this.ring = new RingMemory(memory);
  }

  /**
   * Writes a message and wakes the reader.
   *
   * @throws ProtocolException when the reader leaves no room; it never should
   */
  void write(int type, MemorySegment body) {
    int length = Math.toIntExact(body.byteSize());
    int frame = RingMemory.frameBytes(length);
    if (length > RingMemory.MAXIMUM_BODY) {
      throw new IllegalArgumentException(
          "a message of %d bytes is longer than %d".formatted(length, RingMemory.MAXIMUM_BODY));
    }
    long unread = position - (long) RingMemory.POSITION.getAcquire(ring.read, 0L);
    if (unread < 0 || unread > RingMemory.CAPACITY - frame) {
      throw new ProtocolException("the reader of a ring leaves %d bytes unread".formatted(unread));
    }
    long offset = RingMemory.offset(position);
    ring.data.set(JAVA_INT, offset, length);
    ring.data.set(JAVA_INT, offset + Integer.BYTES, type);
    copyIn(body, RingMemory.offset(position + RingMemory.HEADER));
    position += frame;
    RingMemory.POSITION.setRelease(ring.written, 0L, position);
    ring.signal.raise();
  }

  /** Wakes the reader for a message that is about to come. */
  void rouse() {
    ring.signal.raise();
  }

  /** Whether the reader has read all that was written. */
  boolean isRead() {
    return (long) RingMemory.POSITION.getAcquire(ring.read, 0L) == position;
  }

  private void copyIn(MemorySegment body, long offset) {
    long first = Math.min(body.byteSize(), RingMemory.CAPACITY - offset);
    MemorySegment.copy(body, 0, ring.data, offset, first);
    MemorySegment.copy(body, first, ring.data, 0, body.byteSize() - first);
  }
}
