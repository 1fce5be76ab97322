package io.pipelane.switcher;

import io.pipelane.lanes.BytesSource;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;

/** Weights that are read from a model's file at once. */
final class ReadWeights {
  private ReadWeights() {}

  static WeightSource of(ImportedModel model) {
    try {
      return new BytesSource(Files.readAllBytes(model.weights()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
