package io.pipelane.modelstore.importing;

import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.runtime.graph.GatedGraph;
import io.pipelane.runtime.graph.InPlaceWeight;
import io.pipelane.runtime.graph.content.ModelFile;
import io.pipelane.runtime.graph.content.TensorContent;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/** Weights of a model in one file, in execution order, written without gathering. */
final class WeightsFile implements WritableByteChannel {
  private static final long PIECE_BYTES = 1 << 30;

  private final WritableByteChannel target;
  private final CRC32C crc = new CRC32C();
  private long written;

  private WeightsFile(WritableByteChannel target) {
    this.target = target;
  }

  /** Begins a file, replacing an earlier one. */
  static WeightsFile create(Path file) throws IOException {
    return new WeightsFile(
        FileChannel.open(
            file,
            StandardOpenOption.CREATE,
            StandardOpenOption.WRITE,
            StandardOpenOption.TRUNCATE_EXISTING));
  }

  /**
   * Writes the file of streamed weights, each as the model has it.
   *
   * @param weights the initializers by name
   * @return its CRC-32C
   */
  static long write(GatedGraph gated, Map<String, TensorProto> weights, ModelFile model, Path path)
      throws IOException {
    try (WeightsFile file = create(path)) {
      for (GatedGraph.Weight weight : gated.weights()) {
        file.write(weight.name(), weight.offset(), weights, model);
      }
      file.padTo(gated.weightBytes());
      return file.checksum();
    }
  }

  /**
   * Writes the file of weights that are read in place; empty where there are none.
   *
   * @param weights the initializers by name
   */
  static void writeInPlace(
      GatedGraph gated, Map<String, TensorProto> weights, ModelFile model, Path path)
      throws IOException {
    try (WeightsFile file = create(path)) {
      for (InPlaceWeight weight : gated.inPlace()) {
        file.write(weight.name(), weight.offset(), weights, model);
      }
    }
  }

  private void write(String name, long offset, Map<String, TensorProto> weights, ModelFile model)
      throws IOException {
    padTo(offset);
    @Nullable TensorProto tensor = weights.get(name);
    if (tensor == null) {
      throw new IllegalStateException("no content for weight " + name);
    }
    TensorContent.of(tensor, model.folder()).writeTo(this);
  }

  /** Writes zeros as far as an offset. */
  void padTo(long offset) throws IOException {
    ByteBuffer zeros = ByteBuffer.allocate(Math.toIntExact(offset - written));
    while (zeros.hasRemaining()) {
      write(zeros);
    }
  }

  void write(MemorySegment bytes) throws IOException {
    for (long at = 0; at < bytes.byteSize(); at += PIECE_BYTES) {
      long piece = Math.min(PIECE_BYTES, bytes.byteSize() - at);
      ByteBuffer source = bytes.asSlice(at, piece).asByteBuffer();
      while (source.hasRemaining()) {
        write(source);
      }
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

  /** CRC-32C of what has been written. */
  long checksum() {
    return crc.getValue();
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
