package io.pipelane.bench.loads;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.model.AskedModels;
import io.pipelane.bench.model.ModelCopies;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.Results;
import io.pipelane.config.value.DeviceSelection;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench loads}: whether copies hurt others. */
@Command(
    name = "loads",
    description =
        "Latencies of a model that is on the device while ten others load, beside the "
            + "same without.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class LoadsCommand implements Callable<Integer> {
  private static final int OTHERS = 10;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();
  @Mixin private AcceleratorOptions accelerator = new AcceleratorOptions(1);

  @Option(
      names = "--resident",
      paramLabel = "NAME",
      description = "The model that is asked, or the beginning of a case (${DEFAULT-VALUE}).")
  private String residentName = "minilm-l6-v2 16";

  @Option(
      names = "--other",
      paramLabel = "NAME",
      description = "The model that loads under ten names (${DEFAULT-VALUE}).")
  private String otherName = "googlenet";

  @Option(
      names = "--link",
      paramLabel = "RATE",
      description = "Of the CPU device (${DEFAULT-VALUE}).")
  private String link = "unlimited";

  @Option(
      names = "--load",
      paramLabel = "X",
      description = "Of what one lane can do, requests for the resident model (${DEFAULT-VALUE}).")
  private double load = 0.3;

  @Option(names = "--seed", paramLabel = "N", description = "Of the requests (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Override
  public Integer call() throws Exception {
    if (!(load > 0 && load < 1)) {
      throw new IllegalArgumentException("--load must be above 0 and below 1: " + load);
    }
    Path work = options.work();
    AskedModels models = new AskedModels(work, accelerator, null);
    AskedModel resident = models.find(residentName);
    AskedModel other = models.find(otherName);
    Path repository =
        models.repository("loads-" + resident.model() + "-" + other.model(), List.of(resident));
    List<String> others = ModelCopies.write(repository, other.file(), other.model(), OTHERS);
    Map<String, String> settings = accelerator.serverSettings(work);
    settings.put("workers.isolation", "thread");
    settings.put("device.lanes", "1");
    settings.put("device.memory", "4GiB");
    if (accelerator.device() instanceof DeviceSelection.Cpu) {
      settings.put("link.bandwidth", link);
    }
    settings.put("queue.max-requests", "1000000");
    Results results = new Results(LoadsColumns.TITLE, LoadsColumns.ALL, LoadsColumns.NOTES);
    Scene[] loaded = Scene.values();
    for (int i = 1; i < loaded.length; i++) {
      results.aim(loaded[i].label(), LoadsColumns.P99_RATIO, "<= 1.1");
    }
    try (LocalPipelane server = LocalPipelane.start(repository, work, settings)) {
      LoadsRounds rounds = new LoadsRounds(server, resident, others, load, options.warmup());
      for (int round = 0; round < options.rounds(); round++) {
        Console.say(spec, "round " + (round + 1) + " of " + options.rounds());
        rounds.measure(options.length(), seed + round, results);
      }
      options.publish(
          spec,
          results,
          server.runtimeVersion(),
          Map.of(
              "device",
              accelerator.device().toString(),
              "resident",
              resident.name(),
              "others",
              OTHERS + " of " + other.name()));
    }
    return 0;
  }
}
