package io.pipelane.server.grpc;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.MessageLite;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.pipelane.config.StatusException;
import io.pipelane.server.memory.DirectMemory;
import java.io.IOException;
import java.io.UncheckedIOException;

/** The serialization of messages into buffers. */
final class MessageBytes {
  private MessageBytes() {}

  /**
   * A message's bytes, the caller's to release.
   *
   * @throws StatusException when there is no room for them: see {@link DirectMemory}
   */
  static ByteBuf of(MessageLite message, ByteBufAllocator allocator) {
    int size = message.getSerializedSize();
    ByteBuf bytes = DirectMemory.take(Math.max(1, size), allocator);
    try {
      CodedOutputStream output = CodedOutputStream.newInstance(bytes.nioBuffer(0, size));
      message.writeTo(output);
      output.flush();
      return bytes.writerIndex(size);
    } catch (IOException e) {
      bytes.release();
      throw new UncheckedIOException("a message is larger than it says", e);
    } catch (RuntimeException | Error e) {
      bytes.release();
      throw e;
    }
  }
}
