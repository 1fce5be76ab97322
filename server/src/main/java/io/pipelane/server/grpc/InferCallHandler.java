package io.pipelane.server.grpc;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status.Code;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferResponse;
import org.jspecify.annotations.Nullable;

/** Answers ModelInfer, with how long the run waited for weights among the response's headers. */
final class InferCallHandler implements ServerCallHandler<ModelInferRequest, ModelInferResponse> {
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
  public ServerCall.Listener<ModelInferRequest> startCall(
      ServerCall<ModelInferRequest, ModelInferResponse> call, Metadata headers) {
    call.request(2); // A second message is an error, to be seen as such.
    return new Listener(call, headers);
  }

  /** One call; its methods are called one after another, on the call's event loop. */
  private final class Listener extends ServerCall.Listener<ModelInferRequest>
      implements GrpcInferRun.Receiver {
    private final ServerCall<ModelInferRequest, ModelInferResponse> call;
    private final Metadata metadata;
    private @Nullable ModelInferRequest message;
    private @Nullable ForwardedCall forwarded;
    private @Nullable GrpcInferRun run;
    private boolean refused;

    Listener(ServerCall<ModelInferRequest, ModelInferResponse> call, Metadata metadata) {
      this.call = call;
      this.metadata = metadata;
    }

    @Override
    public void onMessage(ModelInferRequest received) {
      if (message != null && !refused) {
        refuse("ModelInfer takes one message, there were more");
      }
      message = received;
    }

    @Override
    public void onHalfClose() {
      if (message == null) {
        refuse("ModelInfer takes one message, there was none");
      } else if (InferRequestMarshaller.isMalformed(message)) {
        refuse("the message is not of protocol buffers, or of another type");
      } else if (!refused) {
        ModelInferRequest received = message;
        message = null;
        begin(received, CallOrigin.ofCall(GrpcAccess.caller(), parts));
      }
    }

    private void begin(ModelInferRequest received, CallOrigin origin) {
      if (forwarding != null) {
        try {
          forwarded = forwarding.begin(received, metadata, origin, new Elsewhere(received, origin));
        } catch (StatusException e) {
          failed(e);
          return;
        }
      }
      if (forwarded == null) {
        run = GrpcInferRun.start(received, parts, origin, this);
      }
    }

    /** Told how it went on another host. */
    private final class Elsewhere implements ForwardedCall.End {
      private final ModelInferRequest received;
      private final CallOrigin origin;

      Elsewhere(ModelInferRequest received, CallOrigin origin) {
        this.received = received;
        this.origin = origin;
      }

      @Override
      public void here() {
        run = GrpcInferRun.start(received, parts, origin, Listener.this);
      }

      @Override
      public void answered(ModelInferResponse answer, AnswerHeaders headers) {
        Listener.this.answered(answer, headers);
      }

      @Override
      public void failed(StatusException error) {
        Listener.this.failed(error);
      }
    }

    private void refuse(String reason) {
      refused = true;
      call.close(Code.INVALID_ARGUMENT.toStatus().withDescription(reason), new Metadata());
    }

    @Override
    public void onCancel() {
      if (forwarded != null) {
        forwarded.cancel();
      }
      if (run != null) {
        run.cancel();
      }
    }

    @Override
    public void answered(ModelInferResponse answer, AnswerHeaders headers) {
      if (call.isCancelled()) {
        return;
      }
      call.sendHeaders(headers.metadata());
      call.sendMessage(answer);
      call.close(io.grpc.Status.OK, new Metadata());
    }

    @Override
    public void failed(StatusException error) {
      if (!call.isCancelled()) {
        call.close(GrpcStatusMapping.status(error), GrpcStatusMapping.trailers(error));
      }
    }
  }
}
