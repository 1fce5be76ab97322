package io.pipelane.modelstore.importing;

import io.pipelane.config.value.ByteSize;
import io.pipelane.runtime.SessionSettings.Optimization;
import io.pipelane.runtime.graph.CutSettings;
import java.nio.file.Path;
import java.time.Duration;

/**
 * The settings of imports, and the limits on what one may take.
 *
 * @param runtimeLibrary ONNX Runtime's native library
 * @param runtimeVersion its version; derived files of another version are not used
 * @param timeLimit an import that takes longer is ended
 * @param memoryLimit all the memory the import process may address, its heap and the files it maps
 *     included; for a GPU only its heap is bounded, see {@link ImportProcess}
 * @param modelSizeLimit all files of a model together; no file that import writes is larger
 */
public record ImportSettings(
    Path runtimeLibrary,
    String runtimeVersion,
    Optimization optimization,
    CutSettings cuts,
    Duration timeLimit,
    ByteSize memoryLimit,
    ByteSize modelSizeLimit,
    ImportTarget target) {

  private static final ByteSize LEAST_HEAP = ByteSize.ofMebibytes(256);
  private static final int HEAP_SHARE = 4;

  /** Import for this machine's processor. */
  public ImportSettings(
      Path runtimeLibrary,
      String runtimeVersion,
      Optimization optimization,
      CutSettings cuts,
      Duration timeLimit,
      ByteSize memoryLimit,
      ByteSize modelSizeLimit) {
    this(
        runtimeLibrary,
        runtimeVersion,
        optimization,
        cuts,
        timeLimit,
        memoryLimit,
        modelSizeLimit,
        ImportTarget.processor());
  }

  /** The same for another device. */
  public ImportSettings withTarget(ImportTarget other) {
    return new ImportSettings(
        runtimeLibrary,
        runtimeVersion,
        optimization,
        cuts,
        timeLimit,
        memoryLimit,
        modelSizeLimit,
        other);
  }

  /** The same with other cuts. */
  public ImportSettings withCuts(CutSettings other) {
    return new ImportSettings(
        runtimeLibrary,
        runtimeVersion,
        optimization,
        other,
        timeLimit,
        memoryLimit,
        modelSizeLimit,
        target);
  }

  /** The import process's Java heap: a quarter of its memory, but no less than 256 MiB. */
  public ByteSize heapLimit() {
    return new ByteSize(Math.max(LEAST_HEAP.bytes(), memoryLimit.bytes() / HEAP_SHARE));
  }

  /** Level ALL, a quarter of an hour, 16 GiB of addresses and models of up to 8 GiB. */
  public static ImportSettings defaults(Path runtimeLibrary, String runtimeVersion) {
    return new ImportSettings(
        runtimeLibrary,
        runtimeVersion,
        Optimization.ALL,
        CutSettings.DEFAULT,
        Duration.ofMinutes(15),
        ByteSize.ofMebibytes(16 << 10),
        ByteSize.ofMebibytes(8 << 10));
  }
}
