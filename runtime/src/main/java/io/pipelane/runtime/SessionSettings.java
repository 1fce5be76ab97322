package io.pipelane.runtime;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * The settings that a session is built with.
 *
 * @param provider what its kernels run on
 * @param intraOpThreads threads that one run uses, its own included
 * @param optimizedModel where to write the optimised graph, if anywhere; constants of 1 KiB and
 *     more go to a file beside it whose name has {@code .data} added
 * @param deviceAllocator whether constants and run-time memory come from the environment's {@link
 *     DeviceAllocator} instead of ONNX Runtime's own arena
 * @param initializers values that take the place of the graph's initializers of the same names;
 *     they are used in place and must outlive the session
 */
public record SessionSettings(
    ExecutionProvider provider,
    Optimization optimization,
    int intraOpThreads,
    Optional<Path> optimizedModel,
    boolean deviceAllocator,
    Map<String, OrtTensor> initializers) {

  public SessionSettings {
    initializers = Map.copyOf(initializers);
  }

  /** A session as any user of ONNX Runtime would open it. */
  public static SessionSettings plain(int intraOpThreads) {
    return new SessionSettings(
        ExecutionProvider.CPU, Optimization.ALL, intraOpThreads, Optional.empty(), false, Map.of());
  }

  /** A session of a graph that has been optimised before, on the device's memory. */
  public static SessionSettings onDevice(int intraOpThreads) {
    return new SessionSettings(
        ExecutionProvider.CPU, Optimization.NONE, intraOpThreads, Optional.empty(), true, Map.of());
  }

  public SessionSettings withProvider(ExecutionProvider other) {
    return new SessionSettings(
        other, optimization, intraOpThreads, optimizedModel, deviceAllocator, initializers);
  }

  public SessionSettings withOptimizedModel(Optimization level, Path file) {
    return new SessionSettings(
        provider, level, intraOpThreads, Optional.of(file), deviceAllocator, initializers);
  }

  public SessionSettings withInitializers(Map<String, OrtTensor> values) {
    return new SessionSettings(
        provider, optimization, intraOpThreads, optimizedModel, deviceAllocator, values);
  }

  /**
   * ONNX Runtime's graph optimisation levels. With {@link #NONE} a graph runs as it is, in the
   * layout that it has.
   */
  public enum Optimization {
    NONE(0),
    BASIC(1),
    EXTENDED(2),
    ALL(99);

    private final int level;

    Optimization(int level) {
      this.level = level;
    }

    int level() {
      return level;
    }
  }
}
