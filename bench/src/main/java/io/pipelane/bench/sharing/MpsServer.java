package io.pipelane.bench.sharing;

import java.io.BufferedWriter;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * CUDA's Multi-Process Service for the processes of a benchmark, with its own folder; no setting of
 * the device is changed. Started before this process uses CUDA.
 */
final class MpsServer implements AutoCloseable {
  private static final String CONTROL = "nvidia-cuda-mps-control";
  private static final String FOLDER = "CUDA_MPS_PIPE_DIRECTORY";
  private static final long PATIENCE_SECONDS = 10;

  private MpsServer() {}

  /** Why it cannot be used here, if it cannot. */
  static Optional<String> obstacle(Map<String, String> environment) {
    if (!environment.containsKey(FOLDER)) {
      return Optional.of(FOLDER + " is not set, to a folder of the benchmark's own");
    }
    boolean isThere =
        Arrays.stream(environment.getOrDefault("PATH", "").split(File.pathSeparator, -1))
            .anyMatch(folder -> Files.isExecutable(Path.of(folder, CONTROL)));
    return isThere ? Optional.empty() : Optional.of("there is no " + CONTROL + " on this host");
  }

  /** Starts it, where there is no obstacle. */
  static MpsServer start() throws IOException, InterruptedException {
    Files.createDirectories(Path.of(System.getenv().getOrDefault(FOLDER, ".")));
    Process process = new ProcessBuilder(CONTROL, "-d").inheritIO().start();
    if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
      throw new IOException(CONTROL + " -d does not start");
    }
    return new MpsServer();
  }

  @Override
  public void close() {
    try {
      Process process = new ProcessBuilder(CONTROL).redirectErrorStream(true).start();
      try (BufferedWriter commands = process.outputWriter(StandardCharsets.US_ASCII)) {
        commands.write("quit\n");
      }
      boolean _ = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
