package io.pipelane.loadgen.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/** What small programs of the system print. */
final class CommandOutput {
  private CommandOutput() {}

  /** A program's output without the line's end; empty when there is no such program or it fails. */
  static Optional<String> of(String... command) {
    try {
      Process process =
          new ProcessBuilder(List.of(command))
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      process.getOutputStream().close();
      byte[] output = process.getInputStream().readAllBytes();
      return process.waitFor() == 0
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
