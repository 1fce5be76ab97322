package io.pipelane.bench.accelerator;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.MemorySource;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.host.HostMemory;
import io.pipelane.modelstore.host.HostWeights;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.util.function.Function;
import java.util.function.LongFunction;

/** Weights that are read into host memory of a chosen kind, which outlives every lease. */
public final class HeldWeights {
  private static final long CHUNK = 1L << 30;

  private HeldWeights() {}

  /**
   * Weights for a switcher: streamed ones from where they are held, tables in memory that the
   * accelerator reads.
   *
   * @param streamed those of each model
   */
  public static HostWeights on(
      Accelerator accelerator, Function<ImportedModel, WeightSource> streamed) {
    return new HostWeights() {
      @Override
      public WeightSource open(ImportedModel model) {
        return streamed.apply(model);
      }

      @Override
      public HostMemory.Loaded inPlace(ImportedModel model) {
        return HostWeights.held(model, accelerator.tables());
      }
    };
  }

  /** Reads a model's weights once. */
  public static MemorySource read(ImportedModel model, LongFunction<MemorySegment> memory)
      throws IOException {
    MemorySegment bytes = memory.apply(model.plan().weightBytes());
    try (FileChannel file = FileChannel.open(model.weights())) {
      for (long at = 0; at < bytes.byteSize(); ) {
        long length = Math.min(CHUNK, bytes.byteSize() - at);
        int read = file.read(bytes.asSlice(at, length).asByteBuffer(), at);
        if (read < 0) {
          throw new EOFException(model.weights() + " ends at byte " + at);
        }
        at += read;
      }
    }
    return new MemorySource(bytes);
  }
}
