package io.pipelane.bench.ensemble;

import ai.onnxruntime.OrtEnvironment;
import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.local.LocalCaller;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.Results;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench ensemble}: tensors that stay on the device between steps, or go by the host. */
@Command(
    name = "ensemble",
    description = {
      "Latency of ensembles whose tensors stay on the device between steps, beside the "
          + "same with device.ensemble-memory 0, in turns in this process.",
      "Answers are compared byte by byte."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class EnsembleCommand implements Callable<Integer> {
  private static final int TURNS = 20;
  private static final int MOST_KIBIBYTES = 64 << 10;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();

  @Option(
      names = "--kib",
      paramLabel = "N",
      split = ",",
      defaultValue = "256,1024,4096,16384",
      description = "KiB between two steps of the elementwise ones (${DEFAULT-VALUE}).")
  private List<Integer> kibibytes = new ArrayList<>();

  @Option(
      names = "--elementwise-only",
      description = "Leave out the demo's models, which need their artifacts.")
  private boolean elementwiseOnly;

  @Option(
      names = "--device",
      paramLabel = "KIND",
      defaultValue = "cpu",
      description = "What it runs on (${DEFAULT-VALUE}).")
  private String device = "cpu";

  @Option(
      names = "--isolation",
      paramLabel = "KIND",
      defaultValue = "thread",
      description = {
        "Whether models run in worker processes, process or thread (${DEFAULT-VALUE}); on a GPU two "
            + "servers need processes of their own."
      })
  private String isolation = "thread";

  @Override
  public Integer call() throws Exception {
    if (kibibytes.stream().anyMatch(kib -> kib < 1 || kib > MOST_KIBIBYTES)) {
      throw new IllegalArgumentException(
          "--kib must be between 1 and %d: %s".formatted(MOST_KIBIBYTES, kibibytes));
    }
    Path repository = options.work().resolve("ensembles");
    List<Chain> chains = new ArrayList<>();
    for (int kib : kibibytes) {
      chains.add(Chain.steps(repository, kib));
    }
    if (!elementwiseOnly) {
      chains.add(Chain.picture(repository));
    }
    Results results =
        new Results(EnsembleColumns.TITLE, EnsembleColumns.ALL, EnsembleColumns.NOTES);
    try (LocalPipelane byHost = start(repository, "by-host", "0B");
        LocalPipelane keeping = start(repository, "keeping", "256MiB")) {
      for (Chain chain : chains) {
        measure(chain, byHost, keeping, results);
      }
    }
    options.publish(spec, results, OrtEnvironment.getEnvironment().getVersion());
    return 0;
  }

  private LocalPipelane start(Path repository, String name, String ensembleMemory)
      throws Exception {
    Map<String, String> settings = new HashMap<>();
    settings.put("device.kind", device);
    settings.put("workers.isolation", isolation);
    settings.put("device.ensemble-memory", ensembleMemory);
    if (!device.equals("cpu")) { // The providers lie beside the library.
      Path library = AcceleratorOptions.library(options.work()).toAbsolutePath();
      settings.put("runtime.library", library.resolveSibling("").toString());
    }
    return LocalPipelane.start(repository, options.work().resolve(name), settings);
  }

  private void measure(Chain chain, LocalPipelane byHost, LocalPipelane keeping, Results results)
      throws Exception {
    Console.say(spec, "measuring " + chain.name());
    LocalCaller before = byHost.ensembleCaller(chain.name(), chain.inputs());
    LocalCaller after = keeping.ensembleCaller(chain.name(), chain.inputs());
    List<Samples> _ = Timing.alternating(before, after, 2, options.warmup());
    requireSame(chain, before, after);
    for (int round = 0; round < options.rounds(); round++) {
      double kept = keeping.total(state -> state.kept().tensors());
      List<Samples> samples = Timing.alternating(before, after, TURNS, options.length());
      kept = keeping.total(state -> state.kept().tensors()) - kept;
      Samples host = samples.getFirst();
      Samples stayed = samples.getLast();
      results.add(chain.name(), EnsembleColumns.BETWEEN, chain.betweenBytes() / 1e6);
      results.add(chain.name(), EnsembleColumns.BY_HOST, host.median());
      results.add(chain.name(), EnsembleColumns.KEPT, stayed.median());
      results.add(chain.name(), EnsembleColumns.RATIO, stayed.median() / host.median());
      results.add(chain.name(), EnsembleColumns.STAYED, kept / stayed.count());
    }
  }

  private static void requireSame(Chain chain, LocalCaller one, LocalCaller other) {
    one.outputs()
        .forEach(
            (name, bytes) -> {
              MemorySegment others = Objects.requireNonNull(other.outputs().get(name));
              if (bytes.mismatch(others) >= 0) {
                throw new IllegalStateException(chain.name() + " answers otherwise: " + name);
              }
            });
  }
}
