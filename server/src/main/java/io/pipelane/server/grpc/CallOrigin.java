package io.pipelane.server.grpc;

import io.pipelane.server.access.Caller;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Where an inference comes from.
 *
 * @param caller who asks
 * @param headers what the call's header of a name says, or null; null itself where nothing is
 *     traced
 */
record CallOrigin(Caller caller, @Nullable Function<String, @Nullable String> headers) {
  /** That of the call whose method is running, by a caller. */
  static CallOrigin ofCall(Caller caller, InferenceParts parts) {
    boolean traces = parts.backend().statistics().traces();
    return new CallOrigin(caller, traces ? GrpcTracing.headers() : null);
  }
}
