package io.pipelane.modelstore.host;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Where a device's weights come from, or are read. Safe for any thread. */
@FunctionalInterface
public interface HostWeights {
  /**
   * Opens a model's streamed weights for a transfer.
   *
   * @throws UncheckedIOException when they cannot be read
   */
  WeightSource open(ImportedModel model);

  /**
   * Holds what a model reads in place in memory that the device reads, until that is closed; the
   * page cache, unless somebody knows better.
   *
   * @param model one that has such weights
   * @throws UncheckedIOException when they cannot be read
   */
  default HostMemory.Loaded inPlace(ImportedModel model) {
    return held(model, HostMemory.PAGE_CACHE);
  }

  /** The same in a certain memory. */
  static HostMemory.Loaded held(ImportedModel model, HostMemory memory) {
    try {
      return memory.load(model.inPlaceWeights());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
