package io.pipelane.server.grpc;

import io.grpc.MethodDescriptor;
import io.pipelane.protocol.grpc.ModelStreamInferResponse;
import java.io.ByteArrayInputStream;
import java.io.InputStream;

/** An answer in a stream. */
sealed interface StreamAnswer {
  /** How many bytes it has. */
  int size();

  /** An answer that reads outputs where they lie: it must be sent before they are given back. */
  record Written(ModelStreamInferResponse message) implements StreamAnswer {
    @Override
    public int size() {
      return message.getSerializedSize();
    }

    /** The same with outputs of its own. */
    Kept kept() {
      return new Kept(message.toByteArray());
    }
  }

  /** One that may wait for its turn. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Kept(byte[] bytes) implements StreamAnswer {
    @Override
    public int size() {
      return bytes.length;
    }
  }

  /** The marshaller that writes answers. */
  record Marshaller(MethodDescriptor.Marshaller<ModelStreamInferResponse> generated)
      implements MethodDescriptor.Marshaller<StreamAnswer> {
    @Override
    public InputStream stream(StreamAnswer answer) {
      return switch (answer) {
        case Written written -> generated.stream(written.message());
        case Kept kept -> new ByteArrayInputStream(kept.bytes());
      };
    }

    @Override
    public StreamAnswer parse(InputStream stream) {
      return new Written(generated.parse(stream));
    }
  }
}
