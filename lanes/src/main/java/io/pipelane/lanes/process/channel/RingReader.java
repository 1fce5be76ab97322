package io.pipelane.lanes.process.channel;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The reading end of a ring. Belongs to one thread.
 *
 * <p>The writer is not trusted: a message is copied out before anybody looks at it, and positions
 * and lengths are checked.
 */
final class RingReader {
  private final RingMemory ring;
  private final MemorySegment body = Arena.ofAuto().allocate(RingMemory.MAXIMUM_BODY, Long.BYTES);
  private long position;
  private int type;
  private int length;

  RingReader(MemorySegment memory) {
    this.ring = new RingMemory(memory);
  }

  Signal signal() {
    return ring.signal;
  }

  /**
   * Takes the next message; {@link #type} and {@link #body} are its own until the next call.
   *
   * @return false when there is none
   * @throws ProtocolException when what was written cannot be
   */
  boolean next() {
    long unread = (long) RingMemory.POSITION.getAcquire(ring.written, 0L) - position;
    if (unread == 0) {
      return false;
    }
    if (unread < RingMemory.HEADER || unread > RingMemory.CAPACITY || (unread & 7) != 0) {
      throw new ProtocolException("a ring claims %d bytes that were not read".formatted(unread));
    }
    long offset = RingMemory.offset(position);
    int claimed = ring.data.get(JAVA_INT, offset);
    if (claimed < 0
        || claimed > RingMemory.MAXIMUM_BODY
        || RingMemory.frameBytes(claimed) > unread) {
      throw new ProtocolException("a message claims to be %d bytes long".formatted(claimed));
    }
    length = claimed;
    type = ring.data.get(JAVA_INT, offset + Integer.BYTES);
    copyOut(RingMemory.offset(position + RingMemory.HEADER));
    position += RingMemory.frameBytes(length);
    RingMemory.POSITION.setRelease(ring.read, 0L, position);
    return true;
  }

  private void copyOut(long offset) {
    long first = Math.min(length, RingMemory.CAPACITY - offset);
    MemorySegment.copy(ring.data, offset, body, 0, first);
    MemorySegment.copy(ring.data, 0, body, first, length - first);
  }

  int type() {
    return type;
  }

  MemorySegment body() {
    return body.asSlice(0, length);
  }
}
