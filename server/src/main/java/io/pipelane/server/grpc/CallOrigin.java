package io.pipelane.server.grpc;

import io.pipelane.server.access.Caller;
import io.pipelane.server.protocol.RequestPriority;
import io.pipelane.switcher.InferenceRequest;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The origin of an inference.
 *
 * @param caller who asks
 * @param priority the class that the call's headers name; null where they name none
 * @param waitedNanos how long the client had been waiting before this host began to answer
 * @param headers what the call's header of a name says, or null; null itself where nothing is
 *     traced
 */
record CallOrigin(
    Caller caller,
    @Nullable String priority,
    long waitedNanos,
    @Nullable Function<String, @Nullable String> headers) {
  /** That of the call whose method is running, by a caller. */
  static CallOrigin ofCall(Caller caller, InferenceParts parts) {
    boolean traces = parts.backend().statistics().traces();
    return new CallOrigin(caller, GrpcPriority.named(), 0, traces ? GrpcTracing.headers() : null);
  }

  /** The same of a client who has been waiting for other hosts. */
  CallOrigin waited(long nanos) {
    return new CallOrigin(caller, priority, nanos, headers);
  }

  /**
   * A request in the class that the headers name, or that the caller may ask in.
   *
   * @throws io.pipelane.config.StatusException when the headers name none
   */
  InferenceRequest classed(InferenceRequest request) {
    return caller.classed(RequestPriority.classed(request, priority));
  }
}
