package io.pipelane.server.cli;

import io.pipelane.config.ConfigTemplate;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code pipelane config}: shows which configuration a server would have. */
@Command(
    name = "config",
    description = "Print the configuration that serve would have, and where each value is from.",
    sortOptions = false,
    modelTransformer = ConfigOptions.class)
final class ConfigCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--template",
      description = "Print a file with every setting, its meaning and its default instead.")
  private boolean template;

  @Override
  public Integer call() {
    String text =
        template ? ConfigTemplate.render() : ConfigOptions.load(spec, System.getenv()).toYaml();
    spec.commandLine().getOut().print(text);
    spec.commandLine().getOut().flush();
    return 0;
  }
}
