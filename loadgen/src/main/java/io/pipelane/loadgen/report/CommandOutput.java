package io.pipelane.loadgen.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** The output of small programs of the system. */
final class CommandOutput {
  private static final long TIMEOUT_SECONDS = 10;

  private CommandOutput() {}

  /**
   * A program's output without the line's end; empty when there is no such program, it fails, or it
   * takes too long, as a device's tool may when the device is ill.
   */
  static Optional<String> of(String... command) {
    try {
      Process process =
          new ProcessBuilder(List.of(command))
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      process.getOutputStream().close();
      if (!process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        return Optional.empty();
      }
      byte[] output = process.getInputStream().readAllBytes();
      return process.exitValue() == 0
          ? Optional.of(new String(output, StandardCharsets.UTF_8).strip())
          : Optional.empty();
    } catch (IOException e) {
      return Optional.empty();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
  }
}
