package io.pipelane.server.catalog;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.OwnTimes;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.switcher.Deadline;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A model version as the front end needs to know it to check and answer requests for it.
 *
 * @param versions every version of the model that is READY, ascending
 * @param options how its owner wants requests to be treated that say nothing of it themselves
 * @param keepsState whether its answers depend on earlier requests, so that none may be run twice
 * @param content what tells it from another content under the same version number, on any host;
 *     empty where nobody has said
 */
public record ServedModel(
    ModelVersion version,
    List<Long> versions,
    List<TensorSpec> inputs,
    List<TensorSpec> outputs,
    ModelOptions options,
    boolean keepsState,
    String content) {
  /** The longest time for which a client may say that it waits: a day. */
  public static final long LONGEST_TIMEOUT_MICROS = 86_400_000_000L;

  public ServedModel {
    versions = List.copyOf(versions);
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }

  /** A version of a model, which keeps state when its options say so. */
  public ServedModel(
      ModelVersion version,
      List<Long> versions,
      List<TensorSpec> inputs,
      List<TensorSpec> outputs,
      ModelOptions options) {
    this(version, versions, inputs, outputs, options, !options.state().isEmpty(), "");
  }

  /** The same with what is known of its content. */
  public ServedModel ofContent(String known) {
    return new ServedModel(version, versions, inputs, outputs, options, keepsState, known);
  }

  /**
   * Checks a request's length.
   *
   * @param bytes asked where the model has a limit of its own
   * @throws StatusException {@link Status#TOO_LARGE} when the model's own limit is less
   */
  public void checkRequestSize(LongSupplier bytes) {
    Optional<ByteSize> requestSize = options.limits().requestSize();
    if (requestSize.isPresent() && bytes.getAsLong() > requestSize.get().bytes()) {
      throw new StatusException(
          Status.TOO_LARGE,
          "the request of %d bytes is larger than limits.request-size of model %s, %d bytes"
              .formatted(bytes.getAsLong(), version, requestSize.get().bytes()));
    }
  }

  /**
   * Checks how many rows a request brings in an input, which lie along its first dimension where
   * the model leaves that open.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the model takes fewer
   */
  public void checkRows(TensorSpec declared, Shape shape) {
    Optional<Integer> most = options.batching().maxRows();
    if (most.isPresent()
        && shape.rank() > 0
        && declared.shape().dimension(0) < 0
        && shape.dimension(0) > most.get()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "input \"%s\": shape %s has %d rows, model %s takes at most %d"
                  .formatted(declared.name(), shape, shape.dimension(0), version, most.get())
              + " (max_batch_size, batching.max-rows)");
    }
  }

  /**
   * When a request that comes now must be answered: as its caller says, as far as the model's owner
   * lets it, or else as the owner says.
   *
   * @param timeoutMicros how long the caller waits; 0 where it has not said
   */
  public Deadline deadline(long timeoutMicros) {
    long objective = options.limits().timeout().map(Duration::toNanos).orElse(0L);
    long wanted = TimeUnit.MICROSECONDS.toNanos(timeoutMicros);
    long most =
        objective == 0
            ? options.limits().queueTimeout().map(Duration::toNanos).orElse(Long.MAX_VALUE)
            : objective;
    boolean isObjective =
        switch (options.limits().ownTimes()) {
          case ANY -> wanted == 0;
          case SHORTER -> wanted == 0 || wanted >= most;
          case NONE -> true;
        };
    long nanos = isObjective ? objective : wanted;
    return nanos == 0
        ? Deadline.NONE
        : new Deadline(OptionalLong.of(System.nanoTime() + nanos), isObjective);
  }

  /** Whether the owner lets each request say how long it may take, whatever that is. */
  public boolean heedsTimeouts() {
    return options.limits().ownTimes() == OwnTimes.ANY;
  }

  /**
   * The class of a request.
   *
   * @param wanted as its caller says; null where it has not
   */
  public Priority priority(@Nullable Priority wanted) {
    return wanted == null ? options.priority() : wanted;
  }
}
