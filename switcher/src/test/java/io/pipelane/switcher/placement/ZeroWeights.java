package io.pipelane.switcher.placement;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.MemorySegment;

/**
 * Weights of a model that are all zero.
 *
 * @param beforeRead done before each read, by who reads
 */
record ZeroWeights(long byteSize, Runnable beforeRead) implements WeightSource {
  ZeroWeights(ImportedModel model, Runnable beforeRead) {
    this(model.plan().weightBytes(), beforeRead);
  }

  @Override
  public void read(long offset, MemorySegment destination) {
    beforeRead.run();
    destination.fill((byte) 0);
  }

  @Override
  public void close() {}
}
