package io.pipelane.loadgen.grpc;

import io.grpc.MethodDescriptor;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** Calls whose messages stay the bytes that they travel as. */
final class ByteCalls {
  private static final byte[] NOTHING = {};

  private ByteCalls() {}

  /** Whether the server is there. */
  static MethodDescriptor<byte[], byte[]> serverLive() {
    return bytes(GRPCInferenceServiceGrpc.getServerLiveMethod(), false);
  }

  /**
   * An inference.
   *
   * @param keepAnswers whether answers are wanted; they are empty otherwise
   */
  static MethodDescriptor<byte[], byte[]> modelInfer(boolean keepAnswers) {
    return bytes(GRPCInferenceServiceGrpc.getModelInferMethod(), keepAnswers);
  }

  private static MethodDescriptor<byte[], byte[]> bytes(
      MethodDescriptor<?, ?> method, boolean keepAnswers) {
    Bytes bytes = new Bytes(keepAnswers);
    return MethodDescriptor.<byte[], byte[]>newBuilder(bytes, bytes)
        .setType(MethodDescriptor.MethodType.UNARY)
        .setFullMethodName(method.getFullMethodName())
        .build();
  }

  /** A marshaller that hands bytes through. */
  private record Bytes(boolean keepAnswers) implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] message) {
      return new ByteArrayInputStream(message);
    }

    @Override
    public byte[] parse(InputStream message) {
      try {
        return keepAnswers ? message.readAllBytes() : NOTHING;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
