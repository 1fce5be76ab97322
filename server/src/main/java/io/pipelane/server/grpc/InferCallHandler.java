package io.pipelane.server.grpc;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status.Code;
import io.netty.util.concurrent.EventExecutor;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.server.net.CodecThreads;
import io.pipelane.server.net.ServerFault;
import java.lang.System.Logger.Level;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/** The handler of ModelInfer, whose response headers tell how long the run waited for weights. */
final class InferCallHandler implements ServerCallHandler<IncomingMessage, ModelInferResponse> {
  private static final System.Logger LOG = System.getLogger(InferCallHandler.class.getName());

  /** Microseconds that the run waited for weights. */
  static final Metadata.Key<String> STALL_MICROS =
      Metadata.Key.of("pipelane-stall-us", Metadata.ASCII_STRING_MARSHALLER);

  private final InferenceParts parts;
  private final @Nullable CallForwarding forwarding;

  /**
   * Answers here, or has another host answer.
   *
   * @param forwarding says which; null where this host is alone
   */
  InferCallHandler(InferenceParts parts, @Nullable CallForwarding forwarding) {
    this.parts = parts;
    this.forwarding = forwarding;
  }

  @Override
  public ServerCall.Listener<IncomingMessage> startCall(
      ServerCall<IncomingMessage, ModelInferResponse> call, Metadata headers) {
    call.request(2); // A second message is an error, to be seen as such.
    return new Listener(call, headers);
  }

  /** One call; its methods are called one after another, on the call's event loop. */
  private final class Listener extends ServerCall.Listener<IncomingMessage>
      implements GrpcInferRun.Receiver {
    private final ServerCall<IncomingMessage, ModelInferResponse> call;
    private final Metadata metadata;
    private @Nullable IncomingMessage message;
    private @Nullable ForwardedCall forwarded;
    private @Nullable GrpcInferRun run;
    private @Nullable String traceparent;
    private boolean refused;

    Listener(ServerCall<IncomingMessage, ModelInferResponse> call, Metadata metadata) {
      this.call = call;
      this.metadata = metadata;
    }

    @Override
    public void onMessage(IncomingMessage received) {
      if (message != null && !refused) {
        refuse("ModelInfer takes one message, there were more");
      }
      giveBack();
      message = received;
    }

    @Override
    public void onHalfClose() {
      if (message == null) {
        refuse("ModelInfer takes one message, there was none");
      } else if (refused) {
        giveBack();
      } else {
        IncomingMessage received = message;
        message = null;
        beginBehindReads(received, CallOrigin.ofCall(GrpcAccess.caller(), parts));
      }
    }

    @Override
    public void onComplete() {
      giveBack(); // What came behind a refusal.
    }

    /** Forgets a message that nobody will read any more. */
    private void giveBack() {
      if (message != null) {
        message.close();
        message = null;
      }
    }

    /**
     * Begins once the event loop has read what has come on all connections. No answer leaves before
     * that, and what reads, what runs and what answers each finds its code in the caches.
     */
    private void beginBehindReads(IncomingMessage received, CallOrigin origin) {
      try {
        parts.loop().execute(() -> beginOrFail(received, origin));
      } catch (RejectedExecutionException e) {
        received.close(); // The loop has ended, and the call with it.
      }
    }

    /** Nothing but this would end the call after an error that nobody has foreseen. */
    private void beginOrFail(IncomingMessage received, CallOrigin origin) {
      try {
        begin(received, origin);
      } catch (RuntimeException | Error e) {
        received.close();
        failed(ServerFault.of(e));
      }
    }

    private void begin(IncomingMessage received, CallOrigin origin) {
      if (call.isCancelled()) {
        received.close();
        return;
      }
      if (forwarding == null) {
        runHere(received, origin);
      } else if (received.isLarge()) {
        parseThenForward(received, origin);
      } else {
        forward(received, origin);
      }
    }

    /** Only a message says which model it is for, and so where it goes. */
    private void parseThenForward(IncomingMessage received, CallOrigin origin) {
      EventExecutor loop = parts.loop();
      try {
        parts
            .codecs()
            .execute(
                () -> {
                  try {
                    received.parse();
                    loop.execute(() -> forward(received, origin));
                  } catch (StatusException e) {
                    received.close();
                    failed(e);
                  } catch (RejectedExecutionException e) {
                    received.close(); // The loop has ended, and the call with it.
                  } catch (RuntimeException | OutOfMemoryError e) {
                    received.close();
                    failed(ServerFault.of(e));
                  }
                });
      } catch (RejectedExecutionException e) {
        received.close();
        failed(CodecThreads.busy("decoding"));
      }
    }

    private void forward(IncomingMessage parsed, CallOrigin origin) {
      if (call.isCancelled() || forwarding == null) {
        parsed.close();
        return;
      }
      try {
        forwarded =
            forwarding.begin(parsed.parse(), metadata, origin, new Elsewhere(parsed, origin));
      } catch (RuntimeException | OutOfMemoryError e) {
        parsed.close();
        failed(ServerFault.unlessSaid(e));
        return;
      }
      if (forwarded == null) {
        runHere(parsed, origin);
      }
    }

    private void runHere(IncomingMessage received, CallOrigin origin) {
      try {
        run = GrpcInferRun.start(received, parts, origin, this);
      } catch (RuntimeException | OutOfMemoryError e) {
        received.close();
        failed(ServerFault.of(e));
      }
    }

    /** The receiver of a call's end on another host, who keeps the message until then. */
    private final class Elsewhere implements ForwardedCall.End {
      private final IncomingMessage received;
      private final CallOrigin origin;
      private final long cameNanos = System.nanoTime();

      Elsewhere(IncomingMessage received, CallOrigin origin) {
        this.received = received;
        this.origin = origin;
      }

      @Override
      public void here() {
        runHere(received, origin.waited(System.nanoTime() - cameNanos));
      }

      @Override
      public void answered(ModelInferResponse answer, AnswerHeaders headers) {
        received.close();
        Listener.this.answered(answer, headers);
      }

      @Override
      public void failed(StatusException error) {
        received.close();
        Listener.this.failed(error);
      }

      @Override
      public void cancelled() {
        received.close();
      }
    }

    private void refuse(String reason) {
      refused = true;
      call.close(Code.INVALID_ARGUMENT.toStatus().withDescription(reason), new Metadata());
    }

    @Override
    public void onCancel() {
      giveBack();
      if (forwarded != null) {
        forwarded.cancel();
      }
      if (run != null) {
        run.cancel();
      }
    }

    @Override
    public void traced(String named) {
      traceparent = named;
    }

    @Override
    public void answered(ModelInferResponse answer, AnswerHeaders headers) {
      if (call.isCancelled()) {
        return;
      }
      call.sendHeaders(headers.metadata());
      try {
        call.sendMessage(answer);
      } catch (OutOfMemoryError e) {
        LOG.log(Level.WARNING, "a call was ended, as others took the room for its answer", e);
        return; // By gRPC: nothing more can be said.
      }
      call.close(io.grpc.Status.OK, new Metadata());
    }

    @Override
    public void failed(StatusException error) {
      if (!call.isCancelled()) {
        Metadata trailers = GrpcStatusMapping.trailers(error);
        if (traceparent != null) {
          trailers.put(GrpcTracing.TRACEPARENT, traceparent);
        }
        call.close(GrpcStatusMapping.status(error), trailers);
      }
    }
  }
}
