package io.pipelane.server.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import picocli.CommandLine;

/** Runs the command line in this process. */
final class CommandLineFixture {
  private CommandLineFixture() {}

  record Outcome(int exitCode, String out, String err) {}

  static Outcome run(String... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    CommandLine commandLine =
        Pipelane.commandLine().setOut(new PrintWriter(out)).setErr(new PrintWriter(err));
    int exitCode = commandLine.execute(arguments);
    return new Outcome(exitCode, out.toString(), err.toString());
  }
}
