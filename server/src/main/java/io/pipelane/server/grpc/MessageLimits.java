package io.pipelane.server.grpc;

import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import java.util.Set;

/**
 * The limit on messages that have little to say, packed or not, which ends their calls while they
 * still come, or are unpacked. gRPC's own limit is one for all methods, as large as tensors are.
 */
final class MessageLimits extends ServerStreamTracer.Factory {
  /** Of a method that anybody may call. */
  static final int PUBLIC_BYTES = 4 << 10;

  /** Of a method that carries neither tensors nor files. */
  static final int FEW_BYTES = 256 << 10;

  private static final Set<String> LARGE =
      Set.of(
          GRPCInferenceServiceGrpc.getModelInferMethod().getFullMethodName(),
          GRPCInferenceServiceGrpc.getModelStreamInferMethod().getFullMethodName(),
          GRPCInferenceServiceGrpc.getRepositoryModelLoadMethod().getFullMethodName());

  private static final ServerStreamTracer NONE = new ServerStreamTracer() {};

  @Override
  public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
    return LARGE.contains(method)
        ? NONE
        : new Limited(GrpcAccess.demand(method).isPublic() ? PUBLIC_BYTES : FEW_BYTES);
  }

  /** One call. Used by the thread that takes its messages apart, which hands on what is thrown. */
  private static final class Limited extends ServerStreamTracer {
    private final int most;
    private long bytes;
    private long unpackedBytes;

    Limited(int most) {
      this.most = most;
    }

    @Override
    public void inboundMessage(int number) {
      bytes = 0;
      unpackedBytes = 0;
    }

    @Override
    public void inboundWireSize(long more) {
      bytes += more;
      check(bytes);
    }

    @Override
    public void inboundUncompressedSize(long more) {
      unpackedBytes += more;
      check(unpackedBytes);
    }

    private void check(long size) {
      if (size > most) {
        throw Status.RESOURCE_EXHAUSTED
            .withDescription(
                "the message is larger than %d bytes, as large as one of this method may be"
                    .formatted(most))
            .asRuntimeException();
      }
    }
  }
}
