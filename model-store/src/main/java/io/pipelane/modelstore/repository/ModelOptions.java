package io.pipelane.modelstore.repository;

import io.pipelane.config.value.ByteSize;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * An owner's options for a model, in {@code pipelane.yaml} beside its versions.
 *
 * @param buckets batch sizes to specialise the structure to, ascending; empty leaves the choice
 * @param warmUp whether to make the model resident before it is READY
 * @param tenant whose model it is; empty for nobody's in particular
 * @param priority the class of requests that name none
 * @param state inputs that are, from one request of a sequence to the next, what an output was, by
 *     the outputs' names
 * @param warmUps requests to run before it is READY; none unless it is to be resident then
 */
public record ModelOptions(
    List<Integer> buckets,
    boolean warmUp,
    String tenant,
    Priority priority,
    Limits limits,
    BatchingOptions batching,
    Map<String, StateInput> state,
    List<WarmUp> warmUps) {
  public static final ModelOptions DEFAULT =
      new ModelOptions(
          List.of(),
          false,
          "",
          Priority.ONLINE,
          new Limits(
              Optional.empty(),
              Optional.empty(),
              Optional.empty(),
              Optional.empty(),
              Optional.empty()),
          BatchingOptions.DEFAULT,
          Map.of());

  public ModelOptions {
    buckets = List.copyOf(buckets);
    state = Map.copyOf(state);
    warmUps = List.copyOf(warmUps);
  }

  /** The options of a model without requests to warm it up. */
  public ModelOptions(
      List<Integer> buckets,
      boolean warmUp,
      String tenant,
      Priority priority,
      Limits limits,
      BatchingOptions batching,
      Map<String, StateInput> state) {
    this(buckets, warmUp, tenant, priority, limits, batching, state, List.of());
  }

  /** The same with its warm-ups' data files elsewhere. */
  ModelOptions withFiles(UnaryOperator<Path> place) {
    List<WarmUp> placed = warmUps.stream().map(request -> request.withFiles(place)).toList();
    return new ModelOptions(buckets, warmUp, tenant, priority, limits, batching, state, placed);
  }

  /** The same, run together as an owner wants. */
  ModelOptions with(BatchingOptions wanted) {
    return new ModelOptions(buckets, warmUp, tenant, priority, limits, wanted, state, warmUps);
  }

  /** The same for requests that may wait for their turn for as long as it takes. */
  public ModelOptions withoutQueueTimeout() {
    Limits patient =
        new Limits(
            limits.queuedRequests,
            limits.queuedSize,
            limits.requestSize,
            limits.timeout,
            limits.maxSlowdown,
            limits.ownTimes);
    return new ModelOptions(buckets, warmUp, tenant, priority, patient, batching, state, warmUps);
  }

  /** The options of a model that keeps no state. */
  public ModelOptions(
      List<Integer> buckets,
      boolean warmUp,
      String tenant,
      Priority priority,
      Limits limits,
      BatchingOptions batching) {
    this(buckets, warmUp, tenant, priority, limits, batching, Map.of());
  }

  /**
   * An input that is state.
   *
   * @param begins the shape of what a sequence begins with, which is zeros; {@link #ROWS} stands
   *     for a request's rows. Empty leaves it to the model's declaration
   */
  public record StateInput(String name, List<Long> begins) {
    /** As many as the first request of the sequence has rows. */
    public static final long ROWS = -1;

    public StateInput {
      begins = List.copyOf(begins);
    }

    /** One that begins as the model's declaration says. */
    public StateInput(String name) {
      this(name, List.of());
    }
  }

  /** The class of a request. */
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
   * @param queuedSize bytes of input that may wait
   * @param requestSize the largest request it takes
   * @param timeout the longest that a request may take that names no time of its own, waiting
   *     included: the model's service level objective
   * @param maxSlowdown how many times as long as alone its online runs may take beside offline
   *     work, which is slowed down where they take longer; above 1
   * @param ownTimes which times of their own requests may name
   * @param queueTimeout the longest that an online request may wait for its turn, however long its
   *     run takes; only Triton's configuration has it
   */
  public record Limits(
      Optional<Integer> queuedRequests,
      Optional<ByteSize> queuedSize,
      Optional<ByteSize> requestSize,
      Optional<Duration> timeout,
      Optional<Double> maxSlowdown,
      OwnTimes ownTimes,
      Optional<Duration> queueTimeout) {

    /** Limits on answers alone. */
    public Limits(
        Optional<Integer> queuedRequests,
        Optional<ByteSize> queuedSize,
        Optional<ByteSize> requestSize,
        Optional<Duration> timeout,
        Optional<Double> maxSlowdown,
        OwnTimes ownTimes) {
      this(
          queuedRequests,
          queuedSize,
          requestSize,
          timeout,
          maxSlowdown,
          ownTimes,
          Optional.empty());
    }

    /** The same, with whatever time a request names. */
    public Limits(
        Optional<Integer> queuedRequests,
        Optional<ByteSize> queuedSize,
        Optional<ByteSize> requestSize,
        Optional<Duration> timeout,
        Optional<Double> maxSlowdown) {
      this(queuedRequests, queuedSize, requestSize, timeout, maxSlowdown, OwnTimes.ANY);
    }
  }

  /** The times of their own that requests may name, in place of {@link Limits#timeout}. */
  public enum OwnTimes {
    ANY,
    /** Those that are shorter than the model's. */
    SHORTER,
    NONE
  }
}
