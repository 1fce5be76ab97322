package io.pipelane.switcher.memory;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ImportedModel;
import java.util.List;

/**
 * The size of a device's memory for weights, which says what can ever be there.
 *
 * @param bytes in all
 */
record Capacity(long bytes, long pageBytes) {
  /**
   * Refuses a model that can never be here.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY}
   */
  void requireFits(ImportedModel model) {
    long needed = Math.ceilDiv(model.plan().weightBytes(), pageBytes) * pageBytes;
    if (needed > bytes) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "model %s needs %s of device memory for its weights; device.memory is %s, raise it to serve this model"
              .formatted(model.version(), new ByteSize(needed), new ByteSize(bytes)));
    }
  }

  /**
   * Refuses models that can never be here at the same time.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY}
   */
  void requireFit(List<Residency> together) {
    long needed = together.stream().mapToLong(Residency::slotsNeeded).sum() * pageBytes;
    if (needed > bytes) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "models %s need %s of device memory together; device.memory is %s, raise it or give them more devices"
              .formatted(
                  together.stream().map(each -> each.model.version()).toList(),
                  new ByteSize(needed),
                  new ByteSize(bytes)));
    }
  }

  /**
   * What there is beside a model's weights, and what its runs read of its table, in whole pages.
   */
  long beside(Residency residency) {
    int held = residency.slotsNeeded() + residency.tablePagesRead().size();
    return (bytes / pageBytes - held) * pageBytes;
  }
}
