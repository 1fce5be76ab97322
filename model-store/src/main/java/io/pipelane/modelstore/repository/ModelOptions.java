package io.pipelane.modelstore.repository;

import io.pipelane.config.ByteSize;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * What an owner asks for a model, in {@code pipelane.yaml} beside its versions.
 *
 * @param buckets batch sizes to specialise the structure to, ascending; empty leaves the choice
 * @param warmUp whether to make the model resident before it is READY
 * @param tenant whose model it is; empty for nobody's in particular
 */
public record ModelOptions(
    List<Integer> buckets, boolean warmUp, String tenant, Priority priority, Limits limits) {
  public static final ModelOptions DEFAULT =
      new ModelOptions(
          List.of(),
          false,
          "",
          Priority.ONLINE,
          new Limits(Optional.empty(), Optional.empty(), Optional.empty()));

  public ModelOptions {
    buckets = List.copyOf(buckets);
  }

  /** The class of a model's requests. */
  public enum Priority {
    /** Somebody waits for the answer. */
    ONLINE,
    /** Takes what online work leaves over. */
    OFFLINE
  }

  /**
   * A model's own limits, inside the server's.
   *
   * @param queuedRequests how many of its requests may wait
   * @param requestSize the largest request it takes
   * @param timeout the longest that one of its requests may take, waiting included
   */
  public record Limits(
      Optional<Integer> queuedRequests,
      Optional<ByteSize> requestSize,
      Optional<Duration> timeout) {}
}
