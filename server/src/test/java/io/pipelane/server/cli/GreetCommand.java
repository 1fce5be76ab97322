package io.pipelane.server.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** A subcommand as another module would bring it. */
@Command(name = "greet", description = "Say something.")
public final class GreetCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Parameters private String word = "";

  @Override
  public Integer call() {
    spec.commandLine().getOut().println(word);
    return 0;
  }
}
