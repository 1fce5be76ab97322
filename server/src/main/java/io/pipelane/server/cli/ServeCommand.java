package io.pipelane.server.cli;

import io.pipelane.config.ConfigException;
import io.pipelane.config.EffectiveConfig;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.PipelaneServer;
import io.pipelane.server.observability.JsonLogFormatter;
import io.pipelane.server.observability.LogWriter;
import io.pipelane.server.observability.TextLogFormatter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code pipelane serve}: starts the server and stays until it is told to stop. */
@Command(
    name = "serve",
    description = "Serve the models of a repository until told to stop (SIGTERM, Ctrl-C).",
    sortOptions = false,
    modelTransformer = ConfigOptions.class)
final class ServeCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() throws InterruptedException {
    EffectiveConfig effective = ConfigOptions.load(spec, System.getenv());
    if (effective.config().repository().path().isEmpty()) {
      throw new ConfigException(
          "repository.path is not set; name the folder of models with --repository DIR");
    }
    switch (effective.config().logging().format()) {
      case TEXT -> TextLogFormatter.install();
      case JSON -> JsonLogFormatter.install();
    }
    LogWriter.install();
    spec.commandLine().getOut().print(effective.toYaml());
    spec.commandLine().getOut().flush();
    try {
      PipelaneServer.run(effective.config(), System.out);
    } catch (StatusException e) {
      throw asWrongConfiguration(e);
    }
    return 0;
  }

  /** What is invalid at a start is what the configuration says, or a file that it names. */
  private static RuntimeException asWrongConfiguration(StatusException error) {
    return error.status() == Status.INVALID_ARGUMENT && error.getMessage() != null
        ? new ConfigException(error.getMessage(), error)
        : error;
  }
}
