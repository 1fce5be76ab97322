package io.pipelane.server.grpc;

import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.server.memory.DirectMemory;
import java.util.Set;
import java.util.function.LongConsumer;

/**
 * The limits on messages, which end their calls while they still come, or are unpacked: one for
 * those that have little to say, packed or not, as gRPC's own is one for all methods, as large as
 * tensors are; and for the others what {@link DirectMemory} has room for, where they lie until they
 * are whole.
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

  private final LongConsumer arriving;

  MessageLimits() {
    this(DirectMemory::checkArriving);
  }

  /**
   * One of another memory.
   *
   * @param arriving told how much of a message has come; throws a {@link StatusException} where
   *     there is no room for more
   */
  MessageLimits(LongConsumer arriving) {
    this.arriving = arriving;
  }

  @Override
  public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
    return LARGE.contains(method)
        ? new Arriving(arriving)
        : new Limited(GrpcAccess.demand(method).isPublic() ? PUBLIC_BYTES : FEW_BYTES);
  }

  /** A call whose messages may be large. Used by the thread that takes them apart. */
  private static final class Arriving extends ServerStreamTracer {
    private final LongConsumer arriving;
    private long bytes;

    Arriving(LongConsumer arriving) {
      this.arriving = arriving;
    }

    @Override
    public void inboundMessage(int number) {
      bytes = 0;
    }

    @Override
    public void inboundWireSize(long more) {
      bytes += more;
      try {
        arriving.accept(bytes);
      } catch (StatusException e) {
        throw GrpcStatusMapping.status(e).asRuntimeException();
      }
    }
  }

  /** Another. Used by the thread that takes its messages apart, which hands on what is thrown. */
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
