package io.pipelane.server.statistics;

import io.pipelane.config.Status;
import io.pipelane.server.statistics.ModelCounters.Objective;
import io.pipelane.switcher.InferenceTimings;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Where the time of one inference goes, from its decoding to its encoded answer. Used by one thread
 * after another; ends once, later ends count nothing.
 */
public final class RequestAccount {
  private final ModelCounters counters;
  private final long beganNanos = System.nanoTime();
  private long decodedNanos;
  private OptionalLong deadlineNanos = OptionalLong.empty();
  private @Nullable InferenceTimings timings;
  private boolean ended;

  RequestAccount(ModelCounters counters) {
    this.counters = counters;
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

  /** Its run has ended well. */
  public void ran(InferenceTimings ofRun) {
    timings = ofRun;
  }

  /** How long the run waited for weights. */
  public long stallNanos() {
    return timings == null ? 0 : timings.stallNanos();
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
    counters.succeeded(total, decode, timings, Math.max(0, encode));
    if (deadlineNanos.isPresent()) {
      counters.objective(deadlineNanos.getAsLong() - now >= 0 ? Objective.MET : Objective.MISSED);
    }
  }

  /** It ended without an answer. */
  public void failed(Status status) {
    if (!ended) {
      ended = true;
      counters.failed(status, System.nanoTime() - beganNanos);
      if (deadlineNanos.isPresent() && status != Status.CANCELLED) {
        counters.objective(status == Status.UNAVAILABLE ? Objective.REFUSED : Objective.FAILED);
      }
    }
  }
}
