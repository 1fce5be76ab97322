package io.pipelane.server.protocol.inference;

import io.netty.buffer.ByteBuf;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;

/**
 * One output of an answered request.
 *
 * @param data its readable bytes are the elements in wire encoding; whoever holds the record
 *     releases it
 */
public record OutputTensor(String name, TensorType type, Shape shape, ByteBuf data) {
  /** A direct buffer's readable bytes as native memory, valid as long as the buffer. */
  public static MemorySegment memory(ByteBuf data) {
    return BinaryTensors.segment(data);
  }
}
