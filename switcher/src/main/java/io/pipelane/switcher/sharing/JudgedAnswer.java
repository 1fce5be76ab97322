package io.pipelane.switcher.sharing;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.switcher.ForwardingHandler;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.util.function.LongSupplier;

/**
 * A handler that counts a request that has an objective, before its caller is told: whether its
 * device has met that. One that was refused, or rejected for what it asks, tells nothing of the
 * device, nor does one that ended in time as nobody wanted it any more. One that still ran when its
 * time had passed was late, though its caller has gone.
 */
record JudgedAnswer(
    ResultHandler handler, ObjectiveCounts counts, long deadlineNanos, LongSupplier nanoClock)
    implements ForwardingHandler {
  @Override
  public void completed(InferenceTimings timings) {
    counts.judged(deadlineNanos - nanoClock.getAsLong() >= 0);
    handler.completed(timings);
  }

  @Override
  public void failed(StatusException error) {
    if (isOfTheDevice(error.status())) {
      counts.judged(false);
    }
    handler.failed(error);
  }

  private boolean isOfTheDevice(Status status) {
    return switch (status) {
      case CANCELLED -> deadlineNanos - nanoClock.getAsLong() < 0;
      case DEADLINE_EXCEEDED, DEVICE_FAILURE, UNIMPLEMENTED, INTERNAL -> true;
      case INVALID_ARGUMENT,
          UNAUTHENTICATED,
          PERMISSION_DENIED,
          RATE_LIMITED,
          NOT_FOUND,
          TOO_LARGE,
          UNAVAILABLE,
          INSUFFICIENT_MEMORY ->
          false;
    };
  }
}
