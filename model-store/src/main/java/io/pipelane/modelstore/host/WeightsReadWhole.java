package io.pipelane.modelstore.host;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;

/**
 * Weights of which nothing goes on to a device before all of a model's are in host memory: disk,
 * host and device in turn, instead of as one pipeline. Safe for any thread.
 */
public final class WeightsReadWhole implements HostWeights {
  private final HostWeights weights;

  /** Weights that go on as they come, otherwise. */
  public WeightsReadWhole(HostWeights weights) {
    this.weights = weights;
  }

  @Override
  public WeightSource open(ImportedModel model) {
    return new WholeSource(weights.open(model));
  }

  @Override
  public HostMemory.Loaded inPlace(ImportedModel model) {
    return weights.inPlace(model);
  }

  @Override
  public List<String> pageHashes(ImportedModel model, long pageBytes) {
    return weights.pageHashes(model, pageBytes);
  }

  /** A lease whose first read waits for all. */
  private static final class WholeSource implements WeightSource {
    private final WeightSource source;
    private volatile boolean whole;

    WholeSource(WeightSource source) {
      this.source = source;
    }

    @Override
    public long byteSize() {
      return source.byteSize();
    }

    @Override
    public void read(long offset, MemorySegment destination) {
      bringIntoMemory(offset, destination.byteSize());
      source.read(offset, destination);
    }

    @Override
    public Optional<MemorySegment> memory() {
      return whole ? source.memory() : Optional.empty();
    }

    @Override
    public boolean isInMemory(long offset, long bytes) {
      return whole || source.isInMemory(0, byteSize());
    }

    @Override
    public synchronized void bringIntoMemory(long offset, long bytes) {
      if (!whole) {
        source.bringIntoMemory(0, byteSize());
        whole = true;
      }
    }

    @Override
    public void close() {
      source.close();
    }
  }
}
