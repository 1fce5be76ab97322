package io.pipelane.server.catalog;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.TensorSpec;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What the front end needs to know of a model version to check and answer requests for it.
 *
 * @param versions every version of the model that is READY, ascending
 * @param options how its owner wants requests to be treated that say nothing of it themselves
 * @param keepsState whether its answers depend on earlier requests, so that none may be run twice
 */
public record ServedModel(
    ModelVersion version,
    List<Long> versions,
    List<TensorSpec> inputs,
    List<TensorSpec> outputs,
    ModelOptions options,
    boolean keepsState) {
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
    this(version, versions, inputs, outputs, options, !options.state().isEmpty());
  }

  /**
   * Checks a request's length.
   *
   * @throws StatusException {@link Status#TOO_LARGE} when the model's own limit is less
   */
  public void checkRequestSize(long bytes) {
    Optional<ByteSize> requestSize = options.limits().requestSize();
    if (requestSize.isPresent() && bytes > requestSize.get().bytes()) {
      throw new StatusException(
          Status.TOO_LARGE,
          "the request of %d bytes is larger than limits.request-size of model %s, %d bytes"
              .formatted(bytes, version, requestSize.get().bytes()));
    }
  }

  /**
   * When a request that comes now must be answered: as its caller says, or else as the model's
   * owner; by {@link System#nanoTime}.
   *
   * @param timeoutMicros how long the caller waits; 0 where it has not said
   */
  public OptionalLong deadlineNanos(long timeoutMicros) {
    Optional<Duration> objective = options.limits().timeout();
    if (timeoutMicros == 0 && objective.isEmpty()) {
      return OptionalLong.empty();
    }
    long nanos =
        timeoutMicros == 0
            ? objective.orElseThrow().toNanos()
            : TimeUnit.MICROSECONDS.toNanos(timeoutMicros);
    return OptionalLong.of(System.nanoTime() + nanos);
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
