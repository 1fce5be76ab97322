package io.pipelane.loadgen;

import io.pipelane.config.StandardOutput;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.experiment.Experiment;
import io.pipelane.loadgen.experiment.Measurement;
import io.pipelane.loadgen.report.Build;
import io.pipelane.loadgen.report.Context;
import io.pipelane.loadgen.report.Machine;
import io.pipelane.loadgen.report.SummaryTable;
import io.pipelane.loadgen.request.ModelMetadata;
import io.pipelane.loadgen.server.ServerClient;
import io.pipelane.loadgen.server.ServerDescription;
import io.pipelane.loadgen.settings.Endpoint;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The load generator's command line. */
@Command(
    name = "loadgen",
    mixinStandardHelpOptions = true,
    version = "Pipelane load generator 0.1.0",
    description = {
      "Measures throughput and tail latency of any server that speaks the Open "
          + "Inference Protocol.",
      "Latency counts from the time a request was meant to leave, so a server that "
          + "stalls looks stalled.",
      "Exit status: 0 all answered, 1 errors among the answers or no load found that "
          + "holds the limit, 2 unstable, 3 wrong options, 4 the load generator was the "
          + "bottleneck and the figures are worthless, 99 anything else. Where several hold, "
          + "errors come before the bottleneck, and that before unstable."
    },
    sortOptions = false)
public final class Loadgen implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = {"-u", "--url"},
      paramLabel = "URL",
      converter = Target.Converter.class,
      description = {
        "The server: http, https, grpc or grpcs (127.0.0.1:8000, of gRPC 127.0.0.1:8001)."
      })
  private @Nullable Target asked;

  @Mixin private ConnectionOptions connection = new ConnectionOptions();

  @Mixin private ScenarioOptions scenarioOptions = new ScenarioOptions();
  @Mixin private ObjectiveOptions judged = new ObjectiveOptions();
  @Mixin private FileOptions files = new FileOptions();

  @Option(
      names = "--name",
      paramLabel = "TEXT",
      description = "What reports call this (the server's address).")
  private @Nullable String name;

  Loadgen() {}

  /** Measures only if the files of another test are read, unchanged; any without a map. */
  void requireFiles(@Nullable Map<String, String> digests) {
    scenarioOptions.requireFiles(digests);
  }

  /** Runs and ends the process with the exit status. */
  public static void main(String[] arguments) {
    StandardOutput output = StandardOutput.install();
    System.exit(output.exitStatus(execute(arguments), ExitStatus.OTHER.code()));
  }

  /**
   * Runs the subcommand that the first argument names, otherwise the load generator itself.
   *
   * @return the exit status
   */
  public static int execute(String... arguments) {
    for (Subcommand subcommand : ServiceLoader.load(Subcommand.class)) {
      CommandLine other = new CommandLine(subcommand);
      if (arguments.length > 0 && arguments[0].equals(other.getCommandName())) {
        return configure(other.setCommandName("loadgen " + arguments[0]))
            .execute(Arrays.copyOfRange(arguments, 1, arguments.length));
      }
    }
    return commandLine().execute(arguments);
  }

  static CommandLine commandLine() {
    CommandLine commandLine = new CommandLine(new Loadgen());
    commandLine.getCommandSpec().usageMessage().footer(subcommandHelp());
    return configure(commandLine);
  }

  private static String[] subcommandHelp() {
    return ServiceLoader.load(Subcommand.class).stream()
        .map(provider -> new CommandLine(provider.get()).getCommandName())
        .map(name -> "See also: loadgen " + name + " --help")
        .toArray(String[]::new);
  }

  static CommandLine configure(CommandLine commandLine) {
    commandLine.registerConverter(Duration.class, new DurationConverter());
    commandLine.setCaseInsensitiveEnumValuesAllowed(true);
    commandLine.setUsageHelpAutoWidth(true);
    commandLine.setExpandAtFiles(false); // A value may begin with @.
    abbreviateSynopses(commandLine);
    commandLine.setParameterExceptionHandler(
        (exception, _) -> complain(exception.getCommandLine(), ExitStatus.WRONG_OPTION, exception));
    commandLine.setExecutionExceptionHandler(
        (exception, command, _) -> complain(command, exitStatus(exception), exception));
    return commandLine;
  }

  /** There are more options than a line can tell. */
  private static void abbreviateSynopses(CommandLine commandLine) {
    commandLine.getCommandSpec().usageMessage().abbreviateSynopsis(true);
    commandLine.getSubcommands().values().forEach(Loadgen::abbreviateSynopses);
  }

  @Override
  public Integer call() throws InterruptedException, IOException {
    files.requireConsistent();
    judged.requireConsistent();
    scenarioOptions.check();
    Instant started = Instant.now().truncatedTo(ChronoUnit.SECONDS);
    CommandLine commandLine = spec.commandLine();
    Target target = asked == null ? connection.usual() : asked;
    Endpoint endpoint = connection.endpoint(target);
    connection.requireUsed(List.of(endpoint));
    try (SignalInterrupt _ = new SignalInterrupt();
        ServerClient client = Servers.client(endpoint)) {
      List<ModelMetadata> models = scenarioOptions.metadata(client);
      judged.requireAsked(models);
      ScenarioOptions.Prepared prepared = scenarioOptions.prepare(endpoint, target.isDjl(), models);
      ServerDescription server = client.description();
      Machine machine = Machine.current();
      ConsoleObserver observer =
          new ConsoleObserver(commandLine.getOut(), commandLine.getErr(), server, machine, judged);
      Context context =
          new Context(
              name == null ? endpoint.toString() : name,
              started,
              FileOptions.kept(commandLine.getParseResult().originalArgs()),
              Flags.of(spec),
              scenarioOptions.filesRead(),
              prepared.scenario().seed(),
              endpoint.url(),
              server,
              machine,
              Build.current(),
              judged.objective,
              judged.classes(),
              prepared.rowsPerRequest());
      Experiment experiment =
          Experiment.run(prepared.plan(), new Measurement(prepared.scenario(), client, observer));
      if (experiment.steps().size() > 1
          || prepared.scenario().runs() > 1
          || experiment.highest().isPresent()) {
        SummaryTable.print(commandLine.getOut(), experiment);
      }
      experiment.failures().forEach(commandLine.getErr()::println);
      files.write(context, experiment);
      return end(commandLine, ExitStatus.of(experiment));
    }
  }

  /** Says in the last line how a test ended. */
  static int end(CommandLine commandLine, ExitStatus exitStatus) {
    commandLine.getOut().printf("%n%s%n", exitStatus);
    commandLine.getOut().flush();
    return exitStatus.code();
  }

  private static ExitStatus exitStatus(Exception exception) {
    return switch (exception) {
      case IllegalArgumentException _ -> ExitStatus.WRONG_OPTION;
      case StatusException known when known.status() == Status.INVALID_ARGUMENT ->
          ExitStatus.WRONG_OPTION;
      case StatusException known when known.status() == Status.TOO_LARGE -> ExitStatus.WRONG_OPTION;
      default -> ExitStatus.OTHER;
    };
  }

  private static int complain(CommandLine commandLine, ExitStatus exitStatus, Exception exception) {
    boolean isExpected =
        exitStatus == ExitStatus.WRONG_OPTION || exception instanceof StatusException;
    String name = commandLine.getCommandSpec().qualifiedName();
    commandLine
        .getErr()
        .println(name + ": " + (isExpected ? exception.getMessage() : exception.toString()));
    if (exitStatus == ExitStatus.WRONG_OPTION) {
      commandLine.getErr().println(name + " --help lists the options");
    }
    commandLine.getErr().flush();
    return exitStatus.code();
  }
}
