package io.pipelane.server.grpc;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.pipelane.server.protocol.RequestPriority;
import org.jspecify.annotations.Nullable;

/**
 * The interceptor that keeps the class that a call's headers name for the inferences of the call.
 */
final class GrpcPriority implements ServerInterceptor {
  private static final Context.Key<String> NAMED = Context.key("priority");
  private static final Metadata.Key<String> HEADER =
      Metadata.Key.of(RequestPriority.HEADER, Metadata.ASCII_STRING_MARSHALLER);

  /** What the headers of the call whose method is running say; null where they say nothing. */
  static @Nullable String named() {
    return NAMED.get();
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    String named = headers.get(HEADER);
    return named == null
        ? next.startCall(call, headers)
        : Contexts.interceptCall(Context.current().withValue(NAMED, named), call, headers, next);
  }
}
