package io.pipelane.loadgen;

import java.io.PrintWriter;
import java.io.StringWriter;
import picocli.CommandLine;

/** Runs the load generator's commands and keeps what they print. */
final class Console {
  final StringWriter out = new StringWriter();
  final StringWriter err = new StringWriter();

  /** The load generator itself; arguments are separated by blanks. */
  ExitStatus loadgen(String arguments) {
    return execute(Loadgen.commandLine(), arguments);
  }

  ExitStatus run(Subcommand subcommand, String arguments) {
    return execute(Loadgen.configure(new CommandLine(subcommand)), arguments);
  }

  private ExitStatus execute(CommandLine commandLine, String arguments) {
    return ExitStatus.of(
        commandLine
            .setOut(new PrintWriter(out))
            .setErr(new PrintWriter(err))
            .execute(arguments.strip().split(" +", -1)));
  }

  @Override
  public String toString() {
    return out + "\n" + err;
  }
}
