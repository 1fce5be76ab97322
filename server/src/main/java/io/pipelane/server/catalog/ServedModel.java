package io.pipelane.server.catalog;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.TensorSpec;
import java.util.List;
import java.util.Optional;

/**
 * What the front end needs to know of a model version to check and answer requests for it.
 *
 * @param versions every version of the model that is READY, ascending
 * @param requestSize the largest request that its owner lets it take, within the server's limit
 */
public record ServedModel(
    ModelVersion version,
    List<Long> versions,
    List<TensorSpec> inputs,
    List<TensorSpec> outputs,
    Optional<ByteSize> requestSize) {
  public ServedModel {
    versions = List.copyOf(versions);
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }

  /**
   * Checks a request's length.
   *
   * @throws StatusException {@link Status#TOO_LARGE} when the model's own limit is less
   */
  public void checkRequestSize(long bytes) {
    if (requestSize.isPresent() && bytes > requestSize.get().bytes()) {
      throw new StatusException(
          Status.TOO_LARGE,
          "the request of %d bytes is larger than limits.request-size of model %s, %d bytes"
              .formatted(bytes, version, requestSize.get().bytes()));
    }
  }
}
