package io.pipelane.modelstore.repository;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * An owner's options for running a model's requests together.
 *
 * @param preferredSizes batch sizes that are worth running, ascending; empty leaves the choice
 * @param maxQueueDelay how long a request may be held for others to come, while every lane is busy
 * @param preserveOrder whether requests are answered in the order in which they came
 * @param maxRows how many rows a run may have, and so a request; empty bounds nothing
 */
public record BatchingOptions(
    Mode mode,
    List<Integer> preferredSizes,
    Duration maxQueueDelay,
    boolean preserveOrder,
    Optional<Integer> maxRows) {
  public static final BatchingOptions DEFAULT =
      new BatchingOptions(Mode.AUTO, List.of(), Duration.ZERO, false);

  public BatchingOptions {
    preferredSizes = List.copyOf(preferredSizes);
  }

  /** The same, with runs of any size. */
  public BatchingOptions(
      Mode mode, List<Integer> preferredSizes, Duration maxQueueDelay, boolean preserveOrder) {
    this(mode, preferredSizes, maxQueueDelay, preserveOrder, Optional.empty());
  }

  /** The same with a bound of rows. */
  BatchingOptions with(Optional<Integer> mostRows) {
    return new BatchingOptions(mode, preferredSizes, maxQueueDelay, preserveOrder, mostRows);
  }

  /** The rule by which requests may be run together. */
  public enum Mode {
    /** Where import has found that this leaves their answers as they are. */
    AUTO,
    /** Wherever it can be done: the owner accepts other answers. */
    ALWAYS,
    NEVER
  }
}
