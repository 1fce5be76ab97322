package io.pipelane.bench.switching;

import io.pipelane.bench.accelerator.Accelerator;
import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.accelerator.Accelerators;
import io.pipelane.bench.accelerator.ModelCase;
import io.pipelane.bench.accelerator.RepositoryOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.Provenance;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.runtime.graph.CutSettings;
import io.pipelane.switcher.grouping.PipelineCosts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench switch}: what it costs to bring a model onto a device. */
@Command(
    name = "switch",
    description =
        "Latency of models that are on the device, partly on it, and not on it at all, by "
            + "Pipelane's way and by others; all in one run. bin/loadgen zoo writes models to "
            + "measure.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class SwitchCommand implements Callable<Integer> {
  /** A part that can be measured. */
  enum Part {
    PLAIN,
    GATED,
    COLD,
    ISOLATION,
    STRUCTURE,
    LINK,
    ABLATIONS,
    HTTP,
    START
  }

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private AcceleratorOptions accelerated = new AcceleratorOptions();
  @Mixin private RepositoryOptions repository = new RepositoryOptions();

  @Option(
      names = "--model",
      arity = "1..*",
      required = true,
      paramLabel = "NAME",
      description = "Which models of it.")
  private List<String> models = new ArrayList<>();

  @Option(
      names = "--iterations",
      paramLabel = "N",
      description = "Times that each row is measured (${DEFAULT-VALUE}).")
  private int iterations = 100;

  @Option(
      names = "--warmup",
      paramLabel = "N",
      description = "Times that each row runs before (${DEFAULT-VALUE}).")
  private int warmup = 10;

  @Option(
      names = "--segments",
      paramLabel = "N",
      description = "Parts that a model is cut into, at most (${DEFAULT-VALUE}).")
  private int segments = CutSettings.DEFAULT.maximumSegments();

  @Option(
      names = "--part",
      split = ",",
      paramLabel = "PART",
      description = "Only some of ${COMPLETION-CANDIDATES}; may be repeated.")
  private Set<Part> parts = EnumSet.allOf(Part.class);

  @Option(
      names = "--work",
      paramLabel = "DIR",
      description = "Where derived files go (${DEFAULT-VALUE}).")
  private Path work = Path.of(".pipelane", "bench");

  @Option(
      names = "--peer",
      paramLabel = "FILE",
      description = "What PyTorch was measured to take on the same device; shown beside.")
  private @Nullable Path peer;

  @Option(names = "--json", paramLabel = "FILE", description = "Write all samples, too.")
  private @Nullable Path json;

  @Option(names = "--markdown", paramLabel = "FILE", description = "Write a page, too.")
  private @Nullable Path markdown;

  @Option(
      names = "--plans",
      paramLabel = "FILE",
      description = "Write the link and the segments' times for bench grouping, too.")
  private @Nullable Path plans;

  @Override
  public Integer call() throws Exception {
    work = Files.createDirectories(work.toAbsolutePath().normalize());
    Path library = AcceleratorOptions.library(work);
    List<ModelCase> cases =
        models.stream().map(model -> accelerated.modelCase(repository.folder(), model)).toList();
    Measurements measurements = new Measurements();
    Map<String, String> provenance;
    Map<ModelCase, List<Tensor>> inputs = new LinkedHashMap<>();
    Map<String, String> serverSettings;
    PipelineCosts costs;
    try (Accelerator accelerator = open(library, cases)) {
      SwitchBenchmark benchmark =
          new SwitchBenchmark(accelerator, library, work, cuts(), parts, warmup, iterations);
      provenance = new LinkedHashMap<>(accelerator.description());
      provenance.putAll(Provenance.now(benchmark.runtimeVersion()));
      serverSettings = accelerator.serverSettings();
      costs = benchmark.costs();
      for (ModelCase modelCase : cases) {
        Console.say(spec, "measuring " + modelCase.name());
        inputs.put(modelCase, benchmark.measure(modelCase, measurements.of(modelCase.name())));
      }
    }
    for (ModelCase modelCase : cases) {
      measureServed(modelCase, inputs, serverSettings, measurements.of(modelCase.name()));
    }
    if (peer != null) {
      Peer.read(peer, measurements);
    }
    provenance.put("command", "bin/loadgen " + String.join(" ", arguments()));
    publish(new SwitchReport(measurements, provenance));
    if (plans != null) {
      String how = "Recorded by " + provenance.get("command") + ", " + provenance.get("date") + ".";
      measurements
          .plans(provenance.getOrDefault("device", accelerated.device().toString()), how, costs)
          .write(plans);
    }
    return 0;
  }

  private CutSettings cuts() {
    return new CutSettings(
        CutSettings.DEFAULT.minimumSegmentBytes(),
        segments,
        accelerated.readsInPlace(),
        CutSettings.UNLIMITED);
  }

  private List<String> arguments() {
    return spec.root().commandLine().getParseResult().originalArgs();
  }

  private Accelerator open(Path library, List<ModelCase> cases) throws IOException {
    long largest = 0;
    for (ModelCase modelCase : cases) {
      largest = Math.max(largest, Files.size(modelCase.file()));
    }
    return Accelerators.open(accelerated.device(), library, accelerated.pageSize(), largest);
  }

  private void measureServed(
      ModelCase modelCase,
      Map<ModelCase, List<Tensor>> inputs,
      Map<String, String> settings,
      Measured measured)
      throws Exception {
    if (!parts.contains(Part.HTTP) && !parts.contains(Part.START)) {
      return;
    }
    Console.say(spec, "serving " + modelCase.name());
    List<Tensor> request = Objects.requireNonNull(inputs.get(modelCase));
    ServedModel served = new ServedModel(modelCase, request, work, settings);
    if (parts.contains(Part.HTTP)) {
      served.measureHttp(measured);
    }
    if (parts.contains(Part.START)) {
      served.measureStarts(measured);
    }
  }

  private void publish(SwitchReport report) throws IOException {
    report.print(spec.commandLine().getOut());
    if (json != null) {
      report.writeJson(json);
    }
    if (markdown != null) {
      report.writeMarkdown(markdown);
    }
  }
}
