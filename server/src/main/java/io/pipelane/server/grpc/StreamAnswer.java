package io.pipelane.server.grpc;

import io.grpc.KnownLength;
import io.grpc.MethodDescriptor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufInputStream;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelStreamInferResponse;
import io.pipelane.server.memory.DirectMemory;
import java.io.InputStream;

/** An answer in a stream; given up by {@link #release} once it has been sent, or is not to be. */
sealed interface StreamAnswer {
  /** How many bytes it has. */
  int size();

  /** Gives back what it has of its own. */
  void release();

  /** An answer that reads outputs where they lie: it must be sent before they are given back. */
  record Written(ModelStreamInferResponse message) implements StreamAnswer {
    @Override
    public int size() {
      return message.getSerializedSize();
    }

    @Override
    public void release() {}

    /**
     * The same with outputs of its own.
     *
     * @throws StatusException when there is no room for them: see {@link DirectMemory}
     */
    Kept kept(ByteBufAllocator allocator) {
      return new Kept(MessageBytes.of(message, allocator));
    }
  }

  /** One that may wait for its turn, outside Java's heap. */
  record Kept(ByteBuf bytes) implements StreamAnswer {
    @Override
    public int size() {
      return bytes.readableBytes();
    }

    @Override
    public void release() {
      bytes.release();
    }
  }

  /** The marshaller that writes answers. */
  record Marshaller(MethodDescriptor.Marshaller<ModelStreamInferResponse> generated)
      implements MethodDescriptor.Marshaller<StreamAnswer> {
    @Override
    public InputStream stream(StreamAnswer answer) {
      return switch (answer) {
        case Written written -> generated.stream(written.message());
        case Kept kept -> new KnownBytes(kept.bytes().duplicate());
      };
    }

    @Override
    public StreamAnswer parse(InputStream stream) {
      return new Written(generated.parse(stream));
    }

    /**
     * Bytes whose number gRPC asks before it reads them. It would collect them first, and lose what
     * it has collected where there is no room for the rest.
     */
    private static final class KnownBytes extends ByteBufInputStream implements KnownLength {
      KnownBytes(ByteBuf bytes) {
        super(bytes);
      }
    }
  }
}
