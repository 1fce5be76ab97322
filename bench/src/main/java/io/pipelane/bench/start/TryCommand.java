package io.pipelane.bench.start;

import io.pipelane.bench.process.ChildProcess;
import io.pipelane.bench.process.ServerMain;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.model.DemoRepository;
import io.pipelane.loadgen.Loadgen;
import io.pipelane.loadgen.Subcommand;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
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
      "From nothing to a report: serves some of the demo's models, in a process of its own and"
          + " from",
      "less memory than they take, asks them real texts and pictures at rising rates, and writes a",
      "page with charts. Exit status: as loadgen's own."
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

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--rates",
      paramLabel = "START:END:STEP",
      defaultValue = "10:40:15",
      description = "Requests per second (${DEFAULT-VALUE}).")
  private String rates = "10:40:15";

  @Option(
      names = "--duration",
      paramLabel = "TIME",
      defaultValue = "8s",
      description = "How long each rate is measured (${DEFAULT-VALUE}).")
  private String duration = "8s";

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
    PrintWriter out = spec.commandLine().getOut();
    Path folder = Files.createDirectories(work.toAbsolutePath().normalize());
    Path repository = folder.resolve("models");
    Path inputs = folder.resolve("inputs");
    DemoRepository.write(repository, MODELS);
    for (DemoModel model : MODELS) {
      SampleInputs.write(inputs, model);
    }
    out.println("Starting a server with " + MODELS.size() + " models in " + memory);
    out.flush();
    Path report = html == null ? folder.resolve("report.html") : html;
    int status;
    try (ChildProcess server =
        ChildProcess.start(folder.resolve("server.log"), ServerMain.class, settings(repository))) {
      List<String> arguments =
          new ArrayList<>(List.of("--url", server.url().toString(), "--name", "the demo's models"));
      MODELS.forEach(model -> arguments.addAll(List.of("--model", model.modelName())));
      arguments.addAll(
          List.of("--request-rate-range", rates, "--duration", duration, "--warmup", "2s"));
      arguments.addAll(
          List.of("--input-data", inputs.toString(), "--pixels", "0.5:0.5", "--slo", "100ms"));
      arguments.addAll(
          List.of("--json", folder.resolve("result.json").toString(), "--html", report.toString()));
      status = Loadgen.execute(arguments.toArray(String[]::new));
    }
    out.println();
    out.println("Report: " + report.toUri());
    out.flush();
    return status;
  }

  private List<String> settings(Path repository) {
    return List.of(
        "repository.path=" + repository,
        "repository.cache=" + repository.resolveSibling("cache"),
        "device.memory=" + memory,
        "server.http-port=0");
  }
}
