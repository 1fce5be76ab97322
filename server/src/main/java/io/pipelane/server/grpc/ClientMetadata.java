package io.pipelane.server.grpc;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import org.jspecify.annotations.Nullable;

/** What a call's client says of itself, which goes along with a question that is forwarded. */
final class ClientMetadata implements ServerInterceptor {
  private static final Context.Key<Metadata> OF_CALL = Context.key("metadata");

  /** That of the call which this thread answers; null where it was not noted. */
  static @Nullable Metadata ofCall() {
    return OF_CALL.get();
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    return Contexts.interceptCall(
        Context.current().withValue(OF_CALL, headers), call, headers, next);
  }
}
