package io.pipelane.config;

import java.nio.file.Path;
import java.util.Optional;

/** ONNX Runtime. */
public record RuntimeConfig(
    @Key(about = "Folder with ONNX Runtime's libraries, instead of the ones that come along")
        Optional<Path> library,
    @Key(
            about = "Threads one inference may use, on the CPU",
            standard = "1",
            min = "1",
            max = "256")
        int threads,
    @Key(about = "How far graphs are optimised at import", standard = "all")
        Optimization optimization,
    @Key(
            about = "Whether a GPU may round the factors of FP32 products to TF32, which is faster",
            standard = "true")
        boolean tf32,
    @Key(
            about = "Workspace of one session's matrix products on a GPU; less can cost speed",
            standard = "4MiB",
            min = "16KiB",
            max = "64MiB")
        ByteSize cublasWorkspace,
    @Key(about = "Whether a GPU's work is captured once per shape and replayed", standard = "true")
        boolean capture,
    @Key(
            about = "Requests of one shape after which its work is captured",
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
