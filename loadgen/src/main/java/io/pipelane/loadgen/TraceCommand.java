package io.pipelane.loadgen;

import io.pipelane.loadgen.trace.TraceFile;
import io.pipelane.loadgen.trace.TraceGenerator;
import io.pipelane.loadgen.trace.TracedRequest;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code loadgen trace}: makes up a trace that {@code --trace} replays. */
@Command(
    name = "trace",
    description =
        "Makes up a trace like those of Azure Functions: popularity over orders of "
            + "magnitude, some models called by timers, others one by one or in clusters, and a "
            + "load that swings as if the trace were a day.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class TraceCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = {"-m", "--model"},
      paramLabel = "NAME",
      required = true,
      description = "A model; give it several times for several.")
  private List<String> models = new ArrayList<>();

  @Option(
      names = "--rate",
      paramLabel = "R",
      required = true,
      description = "Requests per second of all models together, on the average.")
  private double rate;

  @Option(
      names = "--duration",
      paramLabel = "TIME",
      defaultValue = "1m",
      description = "Length of the trace (${DEFAULT-VALUE}).")
  private Duration duration = Duration.ofMinutes(1);

  @Option(
      names = "--seed",
      paramLabel = "S",
      defaultValue = "1",
      description = "The same seed makes the same trace (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Option(
      names = "--out",
      paramLabel = "FILE",
      defaultValue = "trace.csv",
      description = "Where it is written (${DEFAULT-VALUE}).")
  private Path out = Path.of("trace.csv");

  @Override
  public Integer call() throws IOException {
    List<TracedRequest> requests = new TraceGenerator(seed).generate(models, rate, duration);
    TraceFile.write(FileOptions.parent(out), requests);
    Map<String, Long> counts =
        requests.stream()
            .collect(
                Collectors.groupingBy(TracedRequest::model, TreeMap::new, Collectors.counting()));
    counts.forEach(
        (model, count) ->
            spec.commandLine().getOut().printf(Locale.ROOT, "%-40s %9d%n", model, count));
    spec.commandLine()
        .getOut()
        .printf(Locale.ROOT, "%d requests, seed %d, in %s%n", requests.size(), seed, out);
    spec.commandLine().getOut().flush();
    return ExitStatus.OK.code();
  }
}
