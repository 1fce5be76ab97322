package io.pipelane.server.grpc;

import io.grpc.Metadata;
import io.pipelane.server.statistics.RequestAccount;
import org.jspecify.annotations.Nullable;

/**
 * The headers beside an inference's answer.
 *
 * @param stallMicros how long the run waited for weights; -1 where that is not known
 * @param traceparent names its span; null where it is not traced
 */
record AnswerHeaders(long stallMicros, @Nullable String traceparent) {
  static AnswerHeaders of(RequestAccount account) {
    return new AnswerHeaders(Math.ceilDiv(account.stallNanos(), 1000L), account.traceparent());
  }

  Metadata metadata() {
    Metadata headers = new Metadata();
    if (stallMicros >= 0) {
      headers.put(InferCallHandler.STALL_MICROS, Long.toString(stallMicros));
    }
    if (traceparent != null) {
      headers.put(GrpcTracing.TRACEPARENT, traceparent);
    }
    return headers;
  }
}
