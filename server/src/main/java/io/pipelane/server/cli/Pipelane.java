package io.pipelane.server.cli;

import io.pipelane.config.ConfigException;
import io.pipelane.config.StandardOutput;
import io.pipelane.config.StatusException;
import io.pipelane.server.observability.LastingLogManager;
import java.io.PrintWriter;
import java.util.Objects;
import java.util.ServiceLoader;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** The program {@code pipelane}. */
@Command(
    name = "pipelane",
    description = "Serves more models than its device memory holds.",
    mixinStandardHelpOptions = true,
    versionProvider = VersionProvider.class,
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {
      ServeCommand.class,
      ImportCommand.class,
      ConfigCommand.class,
      ModelsCommand.class,
      InferCommand.class,
      DevicesCommand.class,
      WorkersCommand.class,
      HostsCommand.class,
      LoadCommand.class,
      UnloadCommand.class,
      UploadCommand.class,
      DeleteCommand.class,
      VersionsCommand.class,
      OptionsCommand.class,
      KeyCommand.class,
      JobsCommand.class,
      VersionCommand.class,
      CommandLine.HelpCommand.class
    })
public final class Pipelane implements Runnable {
  private static final int EXIT_FAILED = 1;
  private static final int EXIT_USAGE = 2;

  private static final String LOG_FORMAT_PROPERTY = "java.util.logging.SimpleFormatter.format";

  /** Read when the first of its classes is used. */
  private static final String LOG_MANAGER_PROPERTY = "java.util.logging.manager";

  /**
   * Read when the first client speaks TLS. Each handshake anew costs as much as that of a new
   * connection, and HTTP/2 knows none (RFC 9113, section 9.2.1).
   */
  private static final String NO_RENEGOTIATION_PROPERTY =
      "jdk.tls.rejectClientInitiatedRenegotiation";

  /** It serves on when nobody takes what it prints. */
  private static final String SERVE = "serve";

  @Spec private CommandSpec spec = CommandSpec.create();

  /** One line a record: time, level, message, and the error where there is one. */
  private static final String LOG_FORMAT = "%1$tT.%1$tL %4$-7s %5$s%6$s%n";

  public static void main(String[] arguments) {
    setUnlessSaid(LOG_FORMAT_PROPERTY, LOG_FORMAT);
    setUnlessSaid(LOG_MANAGER_PROPERTY, LastingLogManager.class.getName());
    setUnlessSaid(NO_RENEGOTIATION_PROPERTY, "true");
    if (arguments.length > 0 && arguments[0].equals(SERVE)) {
      System.exit(commandLine().execute(arguments));
    }
    StandardOutput output = StandardOutput.install();
    System.exit(output.exitStatus(commandLine().execute(arguments), EXIT_FAILED));
  }

  private static void setUnlessSaid(String property, String value) {
    if (System.getProperty(property) == null) {
      System.setProperty(property, value);
    }
  }

  /** The command line with all subcommands, those of other modules included. */
  static CommandLine commandLine() {
    CommandLine commandLine = new CommandLine(new Pipelane());
    ServiceLoader.load(Subcommand.class).forEach(commandLine::addSubcommand);
    commandLine.getSubcommands().values().forEach(Pipelane::withHelp);
    return commandLine
        .setUsageHelpAutoWidth(true)
        .setExpandAtFiles(false) // What begins with @ is a value, as of infer --input @FILE.
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setParameterExceptionHandler((error, arguments) -> misused(error))
        .setExecutionExceptionHandler((error, command, parsed) -> report(error, command));
  }

  private static void withHelp(CommandLine subcommand) {
    CommandSpec spec = subcommand.getCommandSpec();
    if (!spec.mixinStandardHelpOptions() && !spec.helpCommand()) {
      spec.addOption(
          CommandLine.Model.OptionSpec.builder("-h", "--help")
              .usageHelp(true)
              .type(boolean.class)
              .description("Show this help.")
              .build());
    }
    subcommand.getSubcommands().values().forEach(Pipelane::withHelp);
  }

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "Say what to do.");
  }

  /** Says what is wrong and where help is; the help of a command with many flags hides it. */
  private static int misused(ParameterException error) {
    CommandLine command = error.getCommandLine();
    String name = command.getCommandSpec().qualifiedName();
    command.getErr().println(name + ": " + error.getMessage());
    if (!UnmatchedArgumentException.printSuggestions(error, command.getErr())
        && !command.getSubcommands().isEmpty()) {
      command.usage(command.getErr());
    }
    command.getErr().println("Try: " + name + " --help");
    return EXIT_USAGE;
  }

  /** Faults of the user or of the surroundings take one line; only our own show a stack trace. */
  private static int report(Exception error, CommandLine command) {
    PrintWriter out = command.getErr();
    String name = command.getCommandSpec().qualifiedName();
    return switch (error) {
      case ConfigException config -> {
        out.println(name + ": " + config.getMessage());
        yield EXIT_USAGE;
      }
      case StatusException status -> {
        out.println(name + ": " + Objects.requireNonNullElse(status.getMessage(), "failed"));
        yield EXIT_FAILED;
      }
      default -> {
        out.println(name + ": unexpected fault");
        error.printStackTrace(out);
        yield EXIT_FAILED;
      }
    };
  }
}
