package io.pipelane.server.grpc;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The interceptor that keeps a call's headers, which say what trace it belongs to, for the
 * inferences of the call.
 */
final class GrpcTracing implements ServerInterceptor {
  /** Names the trace in the answer's headers. */
  static final Metadata.Key<String> TRACEPARENT = key("traceparent");

  private static final Context.Key<Metadata> HEADERS =
      Context.keyWithDefault("headers", new Metadata());

  /** What the headers of the call whose method is running say, by name. */
  static Function<String, @Nullable String> headers() {
    Metadata headers = Objects.requireNonNull(HEADERS.get());
    return name -> headers.get(key(name));
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    Context context = Context.current().withValue(HEADERS, headers);
    return Contexts.interceptCall(context, call, headers, next);
  }

  private static Metadata.Key<String> key(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }
}
