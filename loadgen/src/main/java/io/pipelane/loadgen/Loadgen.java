package io.pipelane.loadgen;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.report.JsonReport;
import io.pipelane.loadgen.report.Machine;
import io.pipelane.loadgen.report.TextReport;
import io.pipelane.loadgen.request.InputSettings;
import io.pipelane.loadgen.request.InputShapes;
import io.pipelane.loadgen.request.MetadataClient;
import io.pipelane.loadgen.request.ModelMetadata;
import io.pipelane.loadgen.request.RequestGenerator;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.Progress;
import io.pipelane.loadgen.settings.LoadMode;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.ModelChoice;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.ResponseCheck;
import io.pipelane.loadgen.settings.Window;
import java.io.Console;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Spec;

/** The load generator's command line. */
@Command(
    name = "loadgen",
    mixinStandardHelpOptions = true,
    version = "Pipelane load generator 0.1.0",
    description = {
      "Measures throughput and tail latency of any server that speaks the Open Inference Protocol.",
      "Latency counts from the time a request was meant to leave, so a server that stalls looks"
          + " stalled.",
      "Exit status: 0 all answered, 1 errors among the answers, 3 wrong options, 99 anything else."
    },
    sortOptions = false)
public final class Loadgen implements Callable<Integer> {
  static final int OK = 0;
  static final int ERRORS = 1;
  static final int WRONG_OPTION = 3;
  static final int OTHER = 99;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private LoadOptions options = new LoadOptions();

  private Loadgen() {}

  /** Runs and ends the process with the exit status. */
  public static void main(String[] arguments) {
    System.exit(execute(arguments));
  }

  /** Runs the subcommand that the first argument names, otherwise the load generator itself. */
  static int execute(String... arguments) {
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

  private static CommandLine configure(CommandLine commandLine) {
    commandLine.registerConverter(Duration.class, new DurationConverter());
    commandLine.setCaseInsensitiveEnumValuesAllowed(true);
    commandLine.setParameterExceptionHandler(
        (exception, _) -> complain(exception.getCommandLine(), WRONG_OPTION, exception));
    commandLine.setExecutionExceptionHandler(
        (exception, command, _) -> complain(command, exitStatus(exception), exception));
    return commandLine;
  }

  @Override
  public Integer call() throws InterruptedException, IOException {
    PrintWriter out = spec.commandLine().getOut();
    LoadMode mode = options.mode();
    Window window = options.window();
    ModelChoice choice = options.choice();
    LoadTest test =
        new LoadTest(
            options.url,
            requests(options.inputs()),
            choice,
            mode,
            window,
            options.seed,
            ResponseCheck.NONE);
    describe(out, test);
    LoadReport report = LoadRunner.run(test, progressLine());
    new TextReport(out, mode instanceof LoadMode.Open).print(report);
    if (options.json != null) {
      new JsonReport().write(options.json, flags(), options.seed, Machine.current(), report);
    }
    return report.isClean() ? OK : ERRORS;
  }

  private List<ModelRequests> requests(InputSettings inputs) throws InterruptedException {
    List<ModelMetadata> models = new ArrayList<>();
    try (MetadataClient client = new MetadataClient(options.url)) {
      for (String model : options.models) {
        models.add(client.model(model));
      }
    }
    InputShapes.requireUsed(inputs.shapes(), models);
    RequestGenerator generator = new RequestGenerator(inputs);
    return models.stream().map(generator::generate).toList();
  }

  private static void describe(PrintWriter out, LoadTest test) {
    Machine machine = Machine.current();
    out.printf("server       %s%n", test.url());
    out.printf("load         %s%n", test.mode().description());
    out.printf(
        "time         %s after %s of warm-up, seed %d%n",
        seconds(test.window().duration()), seconds(test.window().warmup()), test.seed());
    out.printf("models       %s:", test.choice());
    double[] shares = test.choice().shares(test.models().size());
    for (int i = 0; i < shares.length; i++) {
      out.printf(Locale.ROOT, " %s %.1f %%", test.models().get(i).model(), 100 * shares[i]);
    }
    out.printf("%nclient       %d cores, %s%n", machine.cores(), machine.processor());
    out.flush();
  }

  private static String seconds(Duration duration) {
    return String.format(Locale.ROOT, "%.1f s", duration.toNanos() / 1e9);
  }

  /** Rewrites one line each second where a person watches; says nothing otherwise. */
  @SuppressWarnings("SystemConsoleNull") // there is none without a terminal
  private Consumer<Progress> progressLine() {
    Console console = System.console();
    if (console == null || !console.isTerminal()) {
      return _ -> {};
    }
    PrintWriter terminal = spec.commandLine().getErr();
    return progress -> {
      terminal.printf(
          Locale.ROOT,
          "\r%6.1f s %s %d answered, %d errors, %d under way   ",
          progress.elapsed().toNanos() / 1e9,
          progress.warm() ? "measuring" : "warm-up  ",
          progress.answered(),
          progress.errors(),
          progress.inFlight());
      terminal.flush();
    };
  }

  /** Every option with its value as JSON can hold it, given or not. */
  private Map<String, @Nullable Object> flags() {
    Map<String, @Nullable Object> flags = new TreeMap<>();
    for (OptionSpec option : spec.options()) {
      if (!option.usageHelp() && !option.versionHelp()) {
        flags.put(option.longestName().substring(2), plain(option.getValue()));
      }
    }
    return flags;
  }

  private static @Nullable Object plain(@Nullable Object value) {
    return switch (value) {
      case null -> null;
      case Number number -> number;
      case Boolean flag -> flag;
      case Collection<?> several -> several.stream().map(String::valueOf).toList();
      default -> value.toString();
    };
  }

  private static int exitStatus(Exception exception) {
    return switch (exception) {
      case IllegalArgumentException _ -> WRONG_OPTION;
      case StatusException known when known.status() == Status.INVALID_ARGUMENT -> WRONG_OPTION;
      case StatusException known when known.status() == Status.TOO_LARGE -> WRONG_OPTION;
      default -> OTHER;
    };
  }

  private static int complain(CommandLine commandLine, int exitStatus, Exception exception) {
    boolean isExpected = exitStatus == WRONG_OPTION || exception instanceof StatusException;
    String name = commandLine.getCommandSpec().qualifiedName();
    commandLine
        .getErr()
        .println(name + ": " + (isExpected ? exception.getMessage() : exception.toString()));
    if (exitStatus == WRONG_OPTION) {
      commandLine.getErr().println(name + " --help lists the options");
    }
    commandLine.getErr().flush();
    return exitStatus;
  }
}
