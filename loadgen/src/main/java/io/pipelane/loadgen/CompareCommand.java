package io.pipelane.loadgen;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.loadgen.compare.Comparison;
import io.pipelane.loadgen.compare.RatioTable;
import io.pipelane.loadgen.experiment.Experiment;
import io.pipelane.loadgen.experiment.LoadPlan;
import io.pipelane.loadgen.experiment.Measurement;
import io.pipelane.loadgen.report.Build;
import io.pipelane.loadgen.report.Context;
import io.pipelane.loadgen.report.HtmlReport;
import io.pipelane.loadgen.report.Machine;
import io.pipelane.loadgen.report.ResultJson;
import io.pipelane.loadgen.request.ModelMetadata;
import io.pipelane.loadgen.server.ServerClient;
import io.pipelane.loadgen.server.ServerDescription;
import io.pipelane.loadgen.settings.Endpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code loadgen compare}: the same load on several servers in turn. */
@Command(
    name = "compare",
    description = {
      "Puts the same load on several servers in turn, A B A B ..., and shows each one's "
          + "figures as multiples of the first one's.",
      "All must serve the same models. djl+http://HOST:PORT asks DJL Serving's own "
          + "routes, with the inputs that the first other server describes.",
      "Exit status: as loadgen's own."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class CompareCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(
      arity = "2..*",
      paramLabel = "URL",
      converter = Target.Converter.class,
      description = "The servers; others are compared with the first.")
  private List<Target> targets = new ArrayList<>();

  @Mixin private ConnectionOptions connection = new ConnectionOptions();
  @Mixin private ScenarioOptions scenarioOptions = new ScenarioOptions();
  @Mixin private ObjectiveOptions judged = new ObjectiveOptions();

  @Option(
      names = "--rounds",
      paramLabel = "N",
      defaultValue = "3",
      description = "How often each server has its turn with each load (${DEFAULT-VALUE}).")
  private int rounds = 3;

  @Option(
      names = "--html",
      paramLabel = "FILE",
      description = "Write a page with charts of all servers, in one file.")
  private @Nullable Path html;

  @Option(
      names = "--json",
      paramLabel = "FOLDER",
      description = "Write each server's result into a folder, as 1.json, 2.json, ...")
  private @Nullable Path json;

  /** Measures only if the files of another test are read, unchanged; any without a map. */
  void requireFiles(@Nullable Map<String, String> digests) {
    scenarioOptions.requireFiles(digests);
  }

  @Override
  public Integer call() throws InterruptedException, IOException {
    if (rounds < 1) {
      throw new IllegalArgumentException("--rounds must be positive: " + rounds);
    }
    if (scenarioOptions.window.runs != 1 || scenarioOptions.load.latencyThreshold != null) {
      throw new IllegalArgumentException(
          "--runs, --latency-threshold and --binary-search are for one server; here --rounds says"
              + " how often each has its turn");
    }
    judged.requireConsistent();
    scenarioOptions.check();
    FileOptions.requireWritable(html);
    FileOptions.requireWritable(json == null ? null : json.resolve("1.json"));
    Instant started = Instant.now().truncatedTo(ChronoUnit.SECONDS);
    Machine machine = Machine.current();
    List<Endpoint> endpoints = targets.stream().map(connection::endpoint).toList();
    connection.requireUsed(endpoints);
    List<ServerClient> clients = endpoints.stream().map(Servers::client).toList();
    try (SignalInterrupt _ = new SignalInterrupt()) {
      List<ModelMetadata> models = scenarioOptions.metadata(clients.get(describing()));
      judged.requireAsked(models);
      List<Measurement> measurements = new ArrayList<>();
      List<ServerDescription> servers = new ArrayList<>();
      List<ScenarioOptions.Prepared> prepared = new ArrayList<>();
      for (int i = 0; i < targets.size(); i++) {
        servers.add(clients.get(i).description());
        prepared.add(scenarioOptions.prepare(endpoints.get(i), targets.get(i).isDjl(), models));
        measurements.add(
            new Measurement(
                prepared.get(i).scenario(),
                clients.get(i),
                new ConsoleObserver(
                    spec.commandLine().getOut(),
                    spec.commandLine().getErr(),
                    servers.get(i),
                    machine,
                    judged)));
      }
      if (!(prepared.getFirst().plan() instanceof LoadPlan.Sweep sweep)) {
        throw new IllegalArgumentException("--binary-search is for one server");
      }
      List<Experiment> experiments = Comparison.run(measurements, sweep.modes(), rounds);
      List<String> names = targets.stream().map(Target::toString).toList();
      RatioTable.print(spec.commandLine().getOut(), names, experiments, judged.objective);
      printFailures(names, experiments);
      write(experiments, prepared, servers, started, machine);
      return Loadgen.end(spec.commandLine(), ExitStatus.ofAll(experiments));
    } finally {
      clients.forEach(ServerClient::close);
    }
  }

  private void printFailures(List<String> names, List<Experiment> experiments) {
    for (int i = 0; i < names.size(); i++) {
      for (Experiment.Failure failure : experiments.get(i).failures()) {
        spec.commandLine()
            .getErr()
            .printf(
                "round %d of %s, %s, could not be measured: %s%n",
                failure.run() + 1, names.get(i), failure.mode().description(), failure.reason());
      }
    }
    spec.commandLine().getErr().flush();
  }

  /** The first server that describes its models. */
  private int describing() {
    for (int i = 0; i < targets.size(); i++) {
      if (!targets.get(i).isDjl()) {
        return i;
      }
    }
    throw new IllegalArgumentException(
        "one of the servers must speak the protocol, to describe the models' inputs");
  }

  /** Writes what was measured; a server of which nothing was is left out. */
  private void write(
      List<Experiment> experiments,
      List<ScenarioOptions.Prepared> prepared,
      List<ServerDescription> servers,
      Instant started,
      Machine machine)
      throws IOException {
    List<ObjectNode> trees = new ArrayList<>();
    for (int i = 0; i < experiments.size(); i++) {
      if (experiments.get(i).steps().isEmpty()) {
        continue;
      }
      List<String> arguments = new ArrayList<>(List.of("compare"));
      arguments.addAll(FileOptions.kept(spec.commandLine().getParseResult().originalArgs()));
      Context context =
          new Context(
              targets.get(i).toString(),
              started,
              arguments,
              Flags.of(spec),
              scenarioOptions.filesRead(),
              scenarioOptions.window.seed,
              connection.endpoint(targets.get(i)).url(),
              servers.get(i),
              machine,
              Build.current(),
              judged.objective,
              judged.classes(),
              prepared.get(i).rowsPerRequest());
      trees.add(new ResultJson().tree(context, experiments.get(i)));
      if (json != null) {
        Path file = FileOptions.parent(json.resolve((i + 1) + ".json"));
        new ResultJson().write(file, context, experiments.get(i));
      }
    }
    if (html != null && !trees.isEmpty()) {
      new HtmlReport().write(FileOptions.parent(html), trees);
    }
  }
}
