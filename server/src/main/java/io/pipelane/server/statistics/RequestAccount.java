package io.pipelane.server.statistics;

import io.pipelane.config.Status;
import io.pipelane.server.observability.InferenceEvent;
import io.pipelane.server.observability.RequestTrace;
import io.pipelane.server.statistics.ModelCounters.Objective;
import io.pipelane.switcher.InferenceTimings;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The account of one inference's time, from its decoding to its encoded answer. Used by one thread
 * after another; ends once, later ends count nothing.
 */
public final class RequestAccount {
  private final ModelCounters counters;
  private final @Nullable RequestTrace trace;
  private final @Nullable InferenceEvent event = InferenceEvent.begun();
  private final long beganNanos = System.nanoTime();
  private long decodedNanos;
  private long rows = 1;
  private OptionalLong deadlineNanos = OptionalLong.empty();
  private @Nullable InferenceTimings timings;
  private OptionalLong encodingNanos = OptionalLong.empty();
  private boolean ended;

  RequestAccount(ModelCounters counters, @Nullable RequestTrace trace) {
    this.counters = counters;
    this.trace = trace;
    counters.begin();
  }

  /**
   * The request is decoded and about to be queued.
   *
   * @param deadline when it must be answered, by {@link System#nanoTime}
   */
  public void decoded(OptionalLong deadline) {
    decodedNanos = System.nanoTime();
    deadlineNanos = deadline;
  }

  /**
   * The same.
   *
   * @param ofBatch how many inferences it is, as {@link BatchRows} says
   */
  public void decoded(OptionalLong deadline, long ofBatch) {
    decoded(deadline);
    rows = ofBatch;
  }

  /** Its run has ended well, whatever becomes of the answer. */
  public void ran(InferenceTimings ofRun) {
    timings = ofRun;
    counters.ran(ofRun, rows);
  }

  /** Its answer is about to be encoded, by a thread that has come to it. */
  public void encoding() {
    if (trace != null) {
      encodingNanos = OptionalLong.of(System.nanoTime());
    }
  }

  /** It counts nothing: the request begins again, for another version. */
  public void withdrawn() {
    if (!ended) {
      ended = true;
      counters.withdrawn();
    }
  }

  /** How long the run waited for weights. */
  public long stallNanos() {
    return timings == null ? 0 : timings.stallNanos();
  }

  /** What its answer says of its trace; null where it is not traced. */
  public @Nullable String traceparent() {
    return trace == null ? null : trace.traceparent();
  }

  /** Does something on this thread whose log records name the trace, where there is one. */
  public <T> T traced(Supplier<T> action) {
    return trace == null ? action.get() : trace.around(action);
  }

  /** Its answer is encoded. */
  public void answered() {
    if (ended || timings == null) {
      return;
    }
    ended = true;
    long now = System.nanoTime();
    long total = now - beganNanos;
    long decode = decodedNanos - beganNanos;
    long encode = total - decode - timings.queueNanos() - timings.executeNanos();
    counters.succeeded(total, decode, timings, Math.max(0, encode), rows);
    if (trace != null) {
      trace.answered(beganNanos, decodedNanos, timings, encodingNanos, now);
    }
    if (event != null) {
      event.ended(counters.version(), "OK", timings);
    }
    if (deadlineNanos.isPresent()) {
      boolean met = deadlineNanos.getAsLong() - now >= 0;
      counters.objective(met ? Objective.MET : Objective.MISSED);
    }
  }

  /** It ended without an answer. */
  public void failed(Status status) {
    if (!ended) {
      ended = true;
      counters.failed(status, System.nanoTime() - beganNanos);
      if (trace != null) {
        trace.failed(status);
      }
      if (event != null) {
        event.ended(counters.version(), status.name(), timings);
      }
      if (deadlineNanos.isPresent() && !leftInTime(status)) {
        counters.objective(status == Status.UNAVAILABLE ? Objective.REFUSED : Objective.FAILED);
      }
    }
  }

  /** Whether it ended as its caller has gone, while it could still be answered in time. */
  private boolean leftInTime(Status status) {
    return status == Status.CANCELLED && deadlineNanos.orElseThrow() - System.nanoTime() >= 0;
  }
}
