package io.pipelane.bench.start;

import io.pipelane.bench.process.ChildProcess;
import io.pipelane.bench.process.ServerMain;
import io.pipelane.bench.report.Console;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.model.DemoRepository;
import io.pipelane.loadgen.ExitStatus;
import io.pipelane.loadgen.Loadgen;
import io.pipelane.loadgen.Subcommand;
import io.pipelane.loadgen.request.InputFiles;
import io.pipelane.loadgen.request.InputSettings;
import io.pipelane.loadgen.request.Pixels;
import io.pipelane.loadgen.request.RequestGenerator;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code loadgen try}: from nothing to a report with charts. */
@Command(
    name = "try",
    description = {
      "From nothing to a report: serves some of the demo's models, in a process of its "
          + "own and from less memory than they take, finds out how much load this machine "
          + "bears with the load generator beside the server, asks real texts and pictures at "
          + "rising rates up to that, and writes a page with charts.",
      "Exit status: as loadgen's own; the last line says what it means."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class TryCommand implements Subcommand {
  /** Those whose answers take milliseconds. */
  private static final Set<DemoModel> MODELS =
      EnumSet.of(
          DemoModel.MINILM,
          DemoModel.MINILM_Q,
          DemoModel.BGE_SMALL_Q,
          DemoModel.PPOCR_CLS,
          DemoModel.PPOCR_REC);

  /** A core is left to the load generator, if there are two. */
  private static final int LANES = Math.max(1, Runtime.getRuntime().availableProcessors() - 1);

  private static final int STEPS = 3;
  private static final String PIXELS = "0.5:0.5";

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--rates",
      paramLabel = "START:END:STEP",
      description = "Requests per second (three, up to what the machine is found to bear).")
  private @Nullable String rates;

  @Option(
      names = "--duration",
      paramLabel = "TIME",
      defaultValue = "10s",
      description = "How long each rate is measured (${DEFAULT-VALUE}).")
  private String duration = "10s";

  @Option(
      names = "--memory",
      paramLabel = "SIZE",
      defaultValue = "64MiB",
      description = "Device memory for weights (${DEFAULT-VALUE}).")
  private String memory = "64MiB";

  @Option(
      names = "--work",
      paramLabel = "FOLDER",
      description = "Where models, inputs and the server's log go (.pipelane/try).")
  private Path work = Path.of(".pipelane", "try");

  @Option(
      names = "--html",
      paramLabel = "FILE",
      description = "Where the page is written (report.html in --work).")
  private @Nullable Path html;

  @Override
  public Integer call() throws IOException, InterruptedException {
    Path folder = Files.createDirectories(work.toAbsolutePath().normalize());
    Path repository = folder.resolve("models");
    Path inputs = folder.resolve("inputs");
    DemoRepository.write(repository, MODELS);
    for (DemoModel model : MODELS) {
      SampleInputs.write(inputs, model);
    }
    Console.say(spec, "Starting a server with " + MODELS.size() + " models in " + memory);
    Path report = html == null ? folder.resolve("report.html") : html;
    int status;
    try (ChildProcess server =
        ChildProcess.start(folder.resolve("server.log"), ServerMain.class, settings(repository))) {
      String range = rates == null ? bearable(server.url(), inputs) : rates;
      List<String> arguments =
          new ArrayList<>(List.of("--url", server.url().toString(), "--name", "the demo's models"));
      models().forEach(model -> arguments.addAll(List.of("--model", model)));
      arguments.addAll(
          List.of("--request-rate-range", range, "--duration", duration, "--warmup", "2s"));
      arguments.addAll(
          List.of("--input-data", inputs.toString(), "--pixels", PIXELS, "--slo", "100ms"));
      arguments.addAll(
          List.of("--json", folder.resolve("result.json").toString(), "--html", report.toString()));
      status = Loadgen.execute(arguments.toArray(String[]::new));
    }
    conclude(report, ExitStatus.of(status));
    return status;
  }

  /** Three rates up to what the machine bears. */
  private String bearable(URI server, Path inputs) throws InterruptedException {
    Console.say(
        spec,
        "Finding out how much load this machine bears with the load generator beside the server");
    RequestGenerator generator =
        new RequestGenerator(
            new InputSettings(
                InputSettings.Values.RANDOM,
                new InputFiles(inputs, Pixels.parse(PIXELS), null),
                InputSettings.Format.BINARY,
                Map.of(),
                0,
                0,
                0,
                1));
    int highest = Calibration.of(server, models(), generator).rate(LANES);
    double step = Math.floor(100.0 * highest / STEPS) / 100;
    Console.say(spec, "It bears " + highest + " requests a second. Loads up to that:\n");
    return String.format(Locale.ROOT, "%.2f:%d:%.2f", step, highest, step);
  }

  /** Behind the line in which the load test itself says what its exit status means. */
  private void conclude(Path report, ExitStatus status) {
    switch (status) {
      case OK, FOUND, ERRORS, UNSTABLE -> Console.say(spec, "Report: " + report.toUri());
      case BOTTLENECK -> {
        Console.say(spec, "Report: " + report.toUri());
        Console.say(
            spec,
            "It says at which loads. Most often other programs keep the processors busy: run this"
                + " again when the machine is idle, or with lower --rates.");
      }
      case WRONG_OPTION, OTHER -> Console.say(spec, "There is no report.");
    }
  }

  private static List<String> models() {
    return MODELS.stream().map(DemoModel::modelName).toList();
  }

  private List<String> settings(Path repository) {
    return List.of(
        "repository.path=" + repository,
        "repository.cache=" + repository.resolveSibling("cache"),
        "device.memory=" + memory,
        "device.lanes=" + LANES,
        "server.http-port=0");
  }
}
