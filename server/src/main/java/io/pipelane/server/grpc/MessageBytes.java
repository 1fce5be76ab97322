package io.pipelane.server.grpc;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.MessageLite;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.io.IOException;
import java.io.UncheckedIOException;

/** The serialization of messages into buffers. */
final class MessageBytes {
  private MessageBytes() {}

  /** A message's bytes, the caller's to release. */
  static ByteBuf of(MessageLite message, ByteBufAllocator allocator) {
    int size = message.getSerializedSize();
    ByteBuf bytes = allocator.directBuffer(Math.max(1, size));
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
