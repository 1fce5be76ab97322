package io.pipelane.modelstore.host;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.util.List;

/** The source of a device's weights, and of those that it reads in place. Safe for any thread. */
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

  /**
   * What is in each page of a model's streamed weights, in order: pages of one hash hold the same
   * bytes. Reads the whole file the first time that anybody asks.
   *
   * @return empty where it cannot be told; nothing is taken for equal then
   */
  default List<String> pageHashes(ImportedModel model, long pageBytes) {
    if (!Files.isRegularFile(model.weights())) {
      return List.of();
    }
    try {
      return PageHashes.of(model.weights(), pageBytes);
    } catch (IOException | RuntimeException e) {
      System.getLogger(HostWeights.class.getName())
          .log(Level.WARNING, "{0} shares no pages with other models: {1}", model.version(), e);
      return List.of();
    }
  }

  /** Holds what a model reads in place in a certain memory. */
  static HostMemory.Loaded held(ImportedModel model, HostMemory memory) {
    try {
      return memory.load(model.inPlaceWeights());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
