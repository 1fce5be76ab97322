package io.pipelane.server.grpc;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The calls that last for as long as their clients like, which a server that stops must end itself.
 * Streams of inferences are told, and end when what they have taken is answered. All others are
 * ended by this interceptor. Safe for any thread.
 *
 * <p>A call is added before it looks at whether the server drains, and draining begins before the
 * calls are looked at: so one of them sees the other.
 */
final class LastingCalls implements ServerInterceptor {
  private final Set<Lasting> calls = ConcurrentHashMap.newKeySet();
  private volatile boolean draining;

  /** A call that can be told that the server stops. */
  interface Lasting {
    /** Takes nothing more, and ends; on any thread, more than once. */
    void beginDrain();
  }

  void add(Lasting call) {
    calls.add(call);
    if (draining) {
      call.beginDrain();
    }
  }

  void remove(Lasting call) {
    calls.remove(call);
  }

  /** Has all calls end, and those that begin from now on. */
  void beginDrain() {
    draining = true;
    calls.forEach(Lasting::beginDrain);
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    String name = call.getMethodDescriptor().getFullMethodName();
    if (call.getMethodDescriptor().getType() == MethodType.UNARY
        || name.equals(GRPCInferenceServiceGrpc.getModelStreamInferMethod().getFullMethodName())) {
      return next.startCall(call, headers);
    }
    Ending<Q, A> ending = new Ending<>(call);
    ServerCall.Listener<Q> listener = next.startCall(ending, headers);
    add(ending);
    return new SimpleForwardingServerCallListener<>(listener) {
      @Override
      public void onCancel() {
        remove(ending);
        super.onCancel();
      }

      @Override
      public void onComplete() {
        remove(ending);
        super.onComplete();
      }
    };
  }

  /** A call that is ended once, by its method or by this server's end; nothing is sent then. */
  private static final class Ending<Q, A> extends SimpleForwardingServerCall<Q, A>
      implements Lasting {
    private boolean ended;

    Ending(ServerCall<Q, A> call) {
      super(call);
    }

    @Override
    public synchronized void sendHeaders(Metadata headers) {
      if (!ended) {
        super.sendHeaders(headers);
      }
    }

    @Override
    public synchronized void sendMessage(A message) {
      if (!ended) {
        super.sendMessage(message);
      }
    }

    @Override
    public synchronized void close(Status status, Metadata trailers) {
      if (!ended) {
        ended = true;
        super.close(status, trailers);
      }
    }

    @Override
    public void beginDrain() {
      StatusException reason = StatusException.shuttingDown();
      close(GrpcStatusMapping.status(reason), GrpcStatusMapping.trailers(reason));
    }
  }
}
