package io.pipelane.bench.packing;

import io.pipelane.bench.report.ReportOptions;
import io.pipelane.bench.report.Results;
import io.pipelane.config.ByteSize;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench packing}: what it costs to have many models on one device. */
@Command(
    name = "packing",
    description =
        "Latency that is added, and devices that are saved, when many seldom asked models "
            + "share one device: Salus' 42 in the simulator, small ones live, in this process, "
            + "on the CPU.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class PackingCommand implements Callable<Integer> {
  private static final String PAPER = "paper, Salus on a P100 (upper bounds)";

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ReportOptions files = new ReportOptions();

  @Option(
      names = "--copies",
      paramLabel = "N",
      description = "Instances of each model (${DEFAULT-VALUE}).")
  private int copies = 3;

  @Option(
      names = "--interval",
      paramLabel = "S",
      description = {
        "Between the requests of an instance, simulated; the artefact's is 10 (${DEFAULT-VALUE})."
      })
  private double interval = 10;

  @Option(
      names = "--live-interval",
      paramLabel = "S",
      description = "The same, live (${DEFAULT-VALUE}).")
  private double liveInterval = 5;

  @Option(
      names = "--seconds",
      paramLabel = "S",
      description = "Length of the live measurement (${DEFAULT-VALUE}).")
  private double seconds = 60;

  @Option(names = "--memory", paramLabel = "SIZE", description = "Of a device (${DEFAULT-VALUE}).")
  private String memory = "16GiB";

  @Option(names = "--seed", paramLabel = "N", description = "Of the requests (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Option(names = "--simulated-only", description = "Leave the CPU out.")
  private boolean simulatedOnly;

  @Override
  public Integer call() throws Exception {
    boolean isFine = copies >= 1 && copies <= 100 && interval > 0 && liveInterval > 0;
    if (!isFine || !(seconds >= 0.1 && seconds <= 3_600)) {
      throw new IllegalArgumentException(
          "--copies is 1 to 100, intervals above 0, --seconds 0.1 to 3600: %d, %s, %s, %s"
              .formatted(copies, interval, liveInterval, seconds));
    }
    Results results = new Results(PackingColumns.TITLE, PackingColumns.ALL, PackingColumns.NOTES);
    new Packed(Instance.all(copies), interval).tell(ByteSize.parse(memory).bytes(), seed, results);
    results.add(PAPER, PackingColumns.MODELS, 42);
    results.add(PAPER, PackingColumns.ADDED, 5);
    results.add(PAPER, PackingColumns.DEVICES, 1);
    results.add(PAPER, PackingColumns.ONE_EACH, 42);
    results.add(PAPER, PackingColumns.STATIC, 6);
    String runtime = "";
    if (!simulatedOnly) {
      Path work = files.work();
      runtime = LivePacked.write(work, copies).tell(work, liveInterval, seconds, seed, results);
    }
    files.publish(spec, results, runtime, Map.of());
    return 0;
  }
}
