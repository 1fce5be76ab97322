package io.pipelane.bench.report;

import java.io.PrintWriter;
import picocli.CommandLine.Model.CommandSpec;

/** The output of a benchmark program while it runs. */
public final class Console {
  private Console() {}

  /** Prints a line where the command prints, at once. */
  public static void say(CommandSpec command, String line) {
    PrintWriter out = command.commandLine().getOut();
    out.println(line);
    out.flush();
  }
}
