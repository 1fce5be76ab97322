package io.pipelane.bench.tiers;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.model.AskedModels;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.Results;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench tiers}: what becomes of the disk's bandwidth. */
@Command(
    name = "tiers",
    description =
        "Transfers and requests of models that are on disk only, beside a reader of the same "
            + "files that does nothing with them.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class TiersCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();
  @Mixin private AcceleratorOptions accelerator = new AcceleratorOptions(1);

  @Option(
      names = "--model",
      split = ",",
      paramLabel = "NAME",
      description = "Models, or beginnings of cases (${DEFAULT-VALUE}).")
  private List<String> names = List.of("minilm-l6-v2 128", "resnet50", "resnet152");

  @Option(
      names = "--threads",
      paramLabel = "N",
      description = "Of the direct reader (${DEFAULT-VALUE}).")
  private int threads = 4;

  @Override
  public Integer call() throws Exception {
    if (threads < 1 || threads > 64) {
      throw new IllegalArgumentException("--threads must be between 1 and 64: " + threads);
    }
    Path work = options.work();
    AskedModels models = new AskedModels(work, accelerator, null);
    Results results = new Results(TiersColumns.TITLE, TiersColumns.ALL, TiersColumns.NOTES);
    Map<String, String> settings = accelerator.serverSettings(work);
    settings.put("workers.isolation", "thread");
    settings.put("host-tier.memory", "0B");
    settings.put("residency.prefetch", "false");
    String runtimeVersion = "";
    for (String name : names) {
      AskedModel asked = models.find(name);
      Console.say(spec, "measuring " + asked.name());
      Path folder = models.repository("alone-" + asked.model(), List.of(asked));
      try (LocalPipelane server = LocalPipelane.startFor(asked, folder, work, settings)) {
        runtimeVersion = server.runtimeVersion();
        try (TiersRounds rounds = new TiersRounds(server, asked, work.resolve("cache"), threads)) {
          for (int round = 0; round < options.rounds(); round++) {
            rounds.measure(options.length(), results);
          }
        }
      }
      results.aim(asked.name(), TiersColumns.RATIO, ">= 0.95");
      results.aim(asked.name(), TiersColumns.FULL_RATIO, ">= 0.95");
    }
    options.publish(
        spec, results, runtimeVersion, Map.of("device", accelerator.device().toString()));
    return 0;
  }
}
