package io.pipelane.server.grpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.server.access.Caller;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.protocol.RequestPriority;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The service for inferences that come as the protocol's message without a gRPC call around it, as
 * other hosts forward theirs. Safe for any event loop.
 */
public final class MessageInferences {
  /** What a body is said to be that is a message. */
  public static final String MEDIA_TYPE = "application/x-protobuf";

  private final Backend backend;
  private final Executor codecs;

  /**
   * Answers from a backend.
   *
   * @param codecs runs what would hold an event loop for too long
   */
  public MessageInferences(Backend backend, Executor codecs) {
    this.backend = backend;
    this.codecs = codecs;
  }

  /**
   * The origin of a message.
   *
   * @param loop on which small ones are decoded and encoded
   * @param waitedNanos how long the client had been waiting before this host began to answer
   * @param headers what the header of a name says, or null
   */
  public record Origin(
      EventLoop loop,
      TransferBuffers transfers,
      ByteBufAllocator allocator,
      Caller caller,
      long waitedNanos,
      Function<String, @Nullable String> headers) {}

  /** The receiver of an inference's end, told once, on its event loop or a codec thread. */
  public interface End {
    /** What runs requests has taken it, whatever comes of that; before its end, on any thread. */
    void taken();

    /**
     * It was answered.
     *
     * @param message the receiver's to release
     * @param stallMicros how long the run waited for weights
     * @param traceparent names its span; null where it is not traced
     */
    void answered(ByteBuf message, long stallMicros, @Nullable String traceparent);

    void failed(StatusException error);
  }

  /**
   * Begins; on the origin's event loop. Every error is told to the end.
   *
   * @return gives it up; for any thread
   */
  public Runnable start(AddressedMessage message, Origin origin, End end) {
    InferenceParts parts =
        new InferenceParts(
            backend,
            origin.transfers,
            origin.allocator,
            origin.loop,
            codecs,
            GrpcServer.MAXIMUM_OUTPUT_BYTES);
    CallOrigin from =
        new CallOrigin(
            origin.caller,
            origin.headers.apply(RequestPriority.HEADER),
            origin.waitedNanos,
            backend.statistics().traces() ? origin.headers : null);
    return GrpcInferRun.start(message, parts, from, new Serializing(origin.allocator, end))::cancel;
  }

  private record Serializing(ByteBufAllocator allocator, End end) implements GrpcInferRun.Receiver {
    @Override
    public void taken() {
      end.taken();
    }

    @Override
    public void answered(ModelInferResponse message, AnswerHeaders headers) {
      end.answered(
          MessageBytes.of(message, allocator), headers.stallMicros(), headers.traceparent());
    }

    @Override
    public void failed(StatusException error) {
      end.failed(error);
    }
  }
}
