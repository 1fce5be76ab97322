package io.pipelane.server.net;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** A program of this machine that a test runs, where it is installed. */
public final class Program {
  private Program() {}

  /**
   * What a program said.
   *
   * @param text its output and what it complained of
   */
  public record Outcome(int status, String text) {}

  /** Runs one to its end, without input. */
  public static Outcome run(List<String> command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try (OutputStream input = process.getOutputStream()) {
      input.flush();
    }
    String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return new Outcome(process.waitFor(), text);
  }

  /** Whether a command can be run, and ends well. */
  public static boolean works(String... command) throws InterruptedException {
    try {
      return run(List.of(command)).status() == 0;
    } catch (IOException e) {
      return false;
    }
  }
}
