package io.pipelane.modelstore.repository;

import io.pipelane.modelstore.repository.ModelOptions.Limits;
import io.pipelane.modelstore.repository.ModelOptions.OwnTimes;
import io.pipelane.protocol.grpc.ModelConfig;
import io.pipelane.protocol.grpc.ModelDynamicBatching;
import io.pipelane.protocol.grpc.ModelQueuePolicy;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The options, in our terms, that a {@code config.pbtxt} amounts to. */
final class TritonOptions {
  /** A century; longer timeouts mean none. */
  private static final long LONGEST_MICROS = 100L * 365 * 24 * 3600 * 1_000_000;

  private TritonOptions() {}

  /** The options; {@link ModelOptions#DEFAULT} for what the file does not say. */
  static ModelOptions of(TritonConfig config) {
    ModelConfig message = config.message();
    ModelDynamicBatching batching = message.getDynamicBatching();
    ModelQueuePolicy queue = batching.getDefaultQueuePolicy();
    List<Integer> preferred =
        batching.getPreferredBatchSizeList().stream()
            .filter(size -> size <= Math.max(1, message.getMaxBatchSize()))
            .distinct()
            .sorted()
            .toList();
    Optional<Integer> queued =
        queue.getMaxQueueSize() > 0 ? Optional.of(queue.getMaxQueueSize()) : Optional.empty();
    return new ModelOptions(
        preferred,
        message.getModelWarmupCount() > 0,
        ModelOptions.DEFAULT.tenant(),
        ModelOptions.DEFAULT.priority(),
        new Limits(
            queued,
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            ownTimes(batching),
            queueTimeout(queue)),
        new BatchingOptions(
            BatchingOptions.DEFAULT.mode(),
            preferred,
            delay(batching.getMaxQueueDelayMicroseconds()),
            batching.getPreserveOrdering(),
            config.mostRows()),
        Map.of(),
        TritonWarmUps.of(message));
  }

  /**
   * What comes too late for its turn is refused, unless the policy would have it run all the same.
   */
  private static Optional<Duration> queueTimeout(ModelQueuePolicy queue) {
    long micros = queue.getDefaultTimeoutMicroseconds();
    boolean refuses = queue.getTimeoutAction() == ModelQueuePolicy.TimeoutAction.REJECT;
    return refuses && micros > 0 && micros < LONGEST_MICROS
        ? Optional.of(Duration.of(micros, ChronoUnit.MICROS))
        : Optional.empty();
  }

  /** Without a queue policy requests are free to name one; a policy that is silent forbids it. */
  private static OwnTimes ownTimes(ModelDynamicBatching batching) {
    if (!batching.hasDefaultQueuePolicy()) {
      return OwnTimes.ANY;
    }
    return batching.getDefaultQueuePolicy().getAllowTimeoutOverride()
        ? OwnTimes.SHORTER
        : OwnTimes.NONE;
  }

  private static Duration delay(long micros) {
    return isBeyondLongest(micros)
        ? ModelOptionsFile.LONGEST_DELAY
        : Duration.of(micros, ChronoUnit.MICROS);
  }

  /** Whether a delay, which is unsigned, is more than a {@code pipelane.yaml} may ask for. */
  static boolean isBeyondLongest(long micros) {
    return Long.compareUnsigned(micros, ModelOptionsFile.LONGEST_DELAY.toNanos() / 1_000) > 0;
  }
}
