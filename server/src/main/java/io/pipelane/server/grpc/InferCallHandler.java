package io.pipelane.server.grpc;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status.Code;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.server.statistics.RequestAccount;
import org.jspecify.annotations.Nullable;

/** Answers ModelInfer, with how long the run waited for weights among the response's headers. */
final class InferCallHandler implements ServerCallHandler<ModelInferRequest, ModelInferResponse> {
  /** Microseconds that the run waited for weights. */
  static final Metadata.Key<String> STALL_MICROS =
      Metadata.Key.of("pipelane-stall-us", Metadata.ASCII_STRING_MARSHALLER);

  private final InferenceParts parts;

  InferCallHandler(InferenceParts parts) {
    this.parts = parts;
  }

  @Override
  public ServerCall.Listener<ModelInferRequest> startCall(
      ServerCall<ModelInferRequest, ModelInferResponse> call, Metadata headers) {
    call.request(2); // A second message is an error, to be seen as such.
    return new Listener(call);
  }

  /** One call; its methods are called one after another, on the call's event loop. */
  private final class Listener extends ServerCall.Listener<ModelInferRequest>
      implements GrpcInferRun.Receiver {
    private final ServerCall<ModelInferRequest, ModelInferResponse> call;
    private @Nullable ModelInferRequest message;
    private @Nullable GrpcInferRun run;
    private boolean refused;

    Listener(ServerCall<ModelInferRequest, ModelInferResponse> call) {
      this.call = call;
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
        run = GrpcInferRun.start(received, parts, GrpcAccess.caller(), this);
      }
    }

    private void refuse(String reason) {
      refused = true;
      call.close(Code.INVALID_ARGUMENT.toStatus().withDescription(reason), new Metadata());
    }

    @Override
    public void onCancel() {
      if (run != null) {
        run.cancel();
      }
    }

    @Override
    public void answered(ModelInferResponse answer, RequestAccount account) {
      if (call.isCancelled()) {
        return;
      }
      Metadata headers = new Metadata();
      headers.put(STALL_MICROS, Long.toString(Math.ceilDiv(account.stallNanos(), 1000L)));
      String traceparent = account.traceparent();
      if (traceparent != null) {
        headers.put(GrpcTracing.TRACEPARENT, traceparent);
      }
      call.sendHeaders(headers);
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
