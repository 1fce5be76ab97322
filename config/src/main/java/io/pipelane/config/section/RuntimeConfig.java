package io.pipelane.config.section;

import io.pipelane.config.value.ByteSize;
import java.nio.file.Path;
import java.util.Optional;

/** ONNX Runtime. */
public record RuntimeConfig(
    @Key(about = "Folder with ONNX Runtime's libraries, to use instead of the bundled ones")
        Optional<Path> library,
    @Key(
            about = "Threads that one inference may use, on the CPU",
            standard = "1",
            min = "1",
            max = "256")
        int threads,
    @Key(about = "How far import optimises graphs", standard = "all") Optimization optimization,
    @Key(
            about = "Whether a GPU may round the factors of FP32 products to TF32, which is faster",
            standard = "true")
        boolean tf32,
    @Key(
            about =
                "Workspace for the matrix products of one session on a GPU; less can cost speed",
            standard = "4MiB",
            min = "16KiB",
            max = "64MiB")
        ByteSize cublasWorkspace,
    @Key(
            about = "Whether a GPU's work is captured once per shape and then replayed",
            standard = "true")
        boolean capture,
    @Key(
            about = "Requests of one shape after which a GPU's work for it is captured",
            standard = "2",
            min = "1",
            max = "1000000")
        int captureAfter) {

  /** A level of graph optimisation, as ONNX Runtime names them. */
  public enum Optimization {
    ALL,
    EXTENDED,
    BASIC,
    NONE
  }

  /** Runs of one shape in a session, the last of which is captured, or loads all there is. */
  public int firstRuns() {
    return capture ? captureAfter : 1;
  }
}
