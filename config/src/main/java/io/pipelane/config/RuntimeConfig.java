package io.pipelane.config;

import java.nio.file.Path;
import java.util.Optional;

/** ONNX Runtime. */
public record RuntimeConfig(
    @Key(about = "Folder with ONNX Runtime's libraries, instead of the ones that come along")
        Optional<Path> library,
    @Key(about = "Threads one inference may use", standard = "1", min = "1", max = "256")
        int threads,
    @Key(about = "How far graphs are optimised at import", standard = "all")
        Optimization optimization,
    @Key(
            about = "Whether hot models get a second, faster form where memory has room",
            standard = "true")
        boolean prepack,
    @Key(
            about = "Requests within a minute that make a model hot",
            standard = "20",
            min = "1",
            max = "1000000")
        int prepackAfter) {

  /** A level of graph optimisation, as ONNX Runtime names them. */
  public enum Optimization {
    ALL,
    EXTENDED,
    BASIC,
    NONE
  }
}
