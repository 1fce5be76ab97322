package io.pipelane.modelstore.importing;

import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.runtime.graph.GatedGraph;
import io.pipelane.runtime.graph.ModelFile;
import io.pipelane.runtime.graph.TensorContent;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/** The streamed weights of a model in one file, in execution order, written without gathering. */
final class WeightsFile {
  private WeightsFile() {}

  /**
   * Writes the file, replacing an earlier one.
   *
   * @param weights the initializers by name
   * @return its CRC-32C
   */
  static long write(GatedGraph gated, Map<String, TensorProto> weights, ModelFile model, Path file)
      throws IOException {
    try (FileChannel channel =
            FileChannel.open(
                file,
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE,
                StandardOpenOption.TRUNCATE_EXISTING);
        Summing sum = new Summing(channel)) {
      for (GatedGraph.Weight weight : gated.weights()) {
        sum.padTo(weight.offset());
        @Nullable TensorProto tensor = weights.get(weight.name());
        if (tensor == null) {
          throw new IllegalStateException("no content for weight " + weight.name());
        }
        TensorContent.of(tensor, model.folder()).writeTo(sum);
      }
      sum.padTo(gated.weightBytes());
      return sum.crc.getValue();
    }
  }

  /** Sums what passes. */
  private static final class Summing implements WritableByteChannel {
    private final WritableByteChannel target;
    private final CRC32C crc = new CRC32C();
    private long written;

    Summing(WritableByteChannel target) {
      this.target = target;
    }

    void padTo(long offset) throws IOException {
      ByteBuffer zeros = ByteBuffer.allocate(Math.toIntExact(offset - written));
      while (zeros.hasRemaining()) {
        write(zeros);
      }
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
      ByteBuffer passed = source.duplicate();
      int count = target.write(source);
      crc.update(passed.limit(passed.position() + count));
      written += count;
      return count;
    }

    @Override
    public boolean isOpen() {
      return target.isOpen();
    }

    @Override
    public void close() throws IOException {
      target.close();
    }
  }
}
