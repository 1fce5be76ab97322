package io.pipelane.bench.density;

import io.pipelane.bench.accelerator.Accelerator;
import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.accelerator.Accelerators;
import io.pipelane.bench.accelerator.HeldWeights;
import io.pipelane.bench.accelerator.ModelCase;
import io.pipelane.bench.accelerator.RepositoryOptions;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.Results;
import io.pipelane.config.section.ResidencyConfig.Policy;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.importing.ImportSettings;
import io.pipelane.modelstore.importing.Importer;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench density}: more variants of a model than fit a device, asked in earnest. */
@Command(
    name = "density",
    description =
        "Stalls of requests for variants of one model, of which only some fit the device, "
            + "under policies of residency; on the device, and beside it what the simulator "
            + "says of the same requests. Of several devices the first is asked, and the others "
            + "lend it their links. bin/loadgen zoo writes models to ask.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class DensityCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();
  @Mixin private AcceleratorOptions accelerated = new AcceleratorOptions();
  @Mixin private RepositoryOptions repository = new RepositoryOptions();

  @Option(
      names = "--memory",
      paramLabel = "SIZE",
      description = "Device memory for weights (${DEFAULT-VALUE}).")
  private String memory = "512MiB";

  @Option(
      names = "--link",
      paramLabel = "RATE",
      description = "Imitates a slower link, on the CPU (${DEFAULT-VALUE}).")
  private String link = "unlimited";

  @Option(names = "--model", required = true, paramLabel = "NAME", description = "Of the folder.")
  private String model = "";

  @Option(
      names = "--variants",
      split = ",",
      paramLabel = "N",
      description = "How many to ask, one number after another (${DEFAULT-VALUE}).")
  private List<Integer> variants = List.of(4, 8, 16);

  @Option(
      names = "--policy",
      split = ",",
      paramLabel = "POLICY",
      description = "Of ${COMPLETION-CANDIDATES} (${DEFAULT-VALUE}).")
  private List<Policy> policies = List.of(Policy.EXPECTED_STALL, Policy.LRU);

  @Option(
      names = "--stall-target-micros",
      split = ",",
      paramLabel = "US",
      description = {
        "What a run should wait at most; 0 is no target (${DEFAULT-VALUE}). Each is a row of its "
            + "own for expected-stall."
      })
  private List<Integer> stallTargets = List.of(0);

  @Option(
      names = "--rate",
      paramLabel = "R",
      description = "Requests a second, of all variants together (${DEFAULT-VALUE}).")
  private double rate = 20;

  @Option(names = "--seed", paramLabel = "N", description = "Of the requests (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Override
  public Integer call() throws Exception {
    Path work = options.work();
    Path library = AcceleratorOptions.library(work);
    ModelCase modelCase = accelerated.modelCase(repository.folder(), model);
    Results results = new Results(DensityColumns.TITLE, DensityColumns.ALL, DensityColumns.NOTES);
    try (Accelerator accelerator =
            Accelerators.open(
                accelerated.device(),
                library,
                accelerated.pageSize(),
                ByteSize.parse(memory),
                Bandwidth.parse(link));
        LentLinks links = LentLinks.open(accelerated, library, Bandwidth.parse(link))) {
      String runtime = accelerator.runtimeVersion();
      ImportSettings settings =
          ImportSettings.defaults(library, runtime).withTarget(accelerator.target());
      ImportedModel imported =
          Importer.open(work.resolve("cache"), settings)
              .importModel(modelCase.file(), modelCase.version());
      Subject subject =
          new Subject(
              imported,
              HeldWeights.read(imported, accelerator::pinned),
              modelCase.inputs(imported));
      Scene scene = new Scene(accelerator, subject, links.lendTo(accelerator));
      CostProbe probe = new CostProbe(scene, rate);
      DensityRounds rounds =
          new DensityRounds(scene, probe.measure(), results, line -> Console.say(spec, line));
      for (int round = 0; round < options.rounds(); round++) {
        for (int count : variants) {
          for (Policy policy : policies) {
            List<Integer> targets = policy == Policy.EXPECTED_STALL ? stallTargets : List.of(0);
            for (int target : targets) {
              rounds.measure(count, policy, target, rate, options.length(), seed + round);
            }
          }
        }
      }
      options.publish(
          spec,
          results,
          List.of(rounds.parts().results(), probe.results()),
          runtime,
          accelerator.description());
    }
    return 0;
  }
}
