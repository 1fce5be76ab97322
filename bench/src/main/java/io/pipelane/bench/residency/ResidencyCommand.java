package io.pipelane.bench.residency;

import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.Provenance;
import io.pipelane.config.value.ByteSize;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench residency}: which weights should stay, when most have to go. */
@Command(
    name = "residency",
    description =
        "Stalls and bytes moved under Pipelane's policy of residency and under others, "
            + "replayed in the simulator against plans recorded on an H200; no device is "
            + "needed.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class ResidencyCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--models",
      paramLabel = "N",
      description = "Variants of the recorded structures, in turns (${DEFAULT-VALUE}).")
  private int models = 60;

  @Option(
      names = "--share",
      paramLabel = "X",
      description = "Of their bytes that device memory has room for (${DEFAULT-VALUE}).")
  private double share = 0.2;

  @Option(
      names = "--rate",
      paramLabel = "R",
      description = "Requests per second of all models together (${DEFAULT-VALUE}).")
  private double rate = 50;

  @Option(
      names = "--seconds",
      paramLabel = "S",
      description = "Length of a trace; its first quarter is not reported (${DEFAULT-VALUE}).")
  private int seconds = 600;

  @Option(
      names = "--page-size",
      paramLabel = "SIZE",
      description = "Of device memory (${DEFAULT-VALUE}).")
  private String pageSize = "16MiB";

  @Option(
      names = "--links",
      paramLabel = "N",
      description =
          "That weights come over, of which all but one are other GPUs' (${DEFAULT-VALUE}).")
  private int links = 1;

  @Option(
      names = "--half-life",
      paramLabel = "S",
      description = "Seconds after which a request counts half (${DEFAULT-VALUE}).")
  private int halfLife = 120;

  @Option(names = "--seed", paramLabel = "N", description = "Of the traces (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Option(
      names = "--no-density",
      description = "Do not look for the number of variants that one device serves.")
  private boolean noDensity;

  @Option(names = "--json", paramLabel = "FILE", description = "Write all figures, too.")
  private @Nullable Path json;

  @Option(names = "--markdown", paramLabel = "FILE", description = "Write a page, too.")
  private @Nullable Path markdown;

  @Option(names = "--svg", paramLabel = "FILE", description = "Draw stalls by memory, too.")
  private @Nullable Path svg;

  @Override
  public Integer call() throws IOException {
    RecordedPlans plans = RecordedPlans.h200(links);
    SimulatedDevice device =
        new SimulatedDevice(ByteSize.parse(pageSize).bytes(), 1, Duration.ofSeconds(halfLife), 0);
    ResidencyBenchmark benchmark =
        new ResidencyBenchmark(
            plans, device, models, share, rate, Duration.ofSeconds(seconds), seed);
    Findings findings = benchmark.run(!noDensity, line -> Console.say(spec, line));
    ResidencyReport report = new ResidencyReport(findings, provenance(plans));
    report.print(spec.commandLine().getOut());
    if (json != null) {
      report.writeJson(json);
    }
    if (markdown != null) {
      report.writeMarkdown(markdown, svg);
    }
    if (svg != null) {
      StallPlot.write(svg, findings.sweep());
    }
    return 0;
  }

  private Map<String, String> provenance(RecordedPlans plans) {
    Map<String, String> values = new LinkedHashMap<>();
    values.put("plans", plans.device());
    values.put("how they were recorded", plans.how());
    values.put("models", Integer.toString(models));
    values.put("requests per second", Double.toString(rate));
    values.put("trace", seconds + " s, seed " + seed);
    values.put("page", pageSize);
    values.put("links", Integer.toString(links));
    values.put("half-life of requests", halfLife + " s");
    Map<String, String> now = Provenance.now("");
    values.put("date", String.valueOf(now.get("date")));
    values.put("commit", String.valueOf(now.get("commit")));
    values.put(
        "command",
        "bin/loadgen bench "
            + String.join(" ", spec.root().commandLine().getParseResult().originalArgs()));
    return values;
  }
}
