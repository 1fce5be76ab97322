package io.pipelane.bench.packing;

import io.pipelane.bench.live.Experiment;
import io.pipelane.bench.live.LiveOptions;
import io.pipelane.bench.live.LiveServers;
import io.pipelane.bench.report.ReportOptions;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.report.Rows;
import io.pipelane.config.value.ByteSize;
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
            + "share one device: Salus' 42 in the simulator, and live, in this process; on a GPU "
            + "with the zoo's models.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class PackingCommand implements Callable<Integer> {
  private static final String PAPER = "paper, Salus on a P100 (upper bounds)";

  @Spec private CommandSpec spec = CommandSpec.create();

  @Mixin
  private LiveOptions live =
      new LiveOptions(
          "minilm-l6-v2 16", "minilm-l6-v2-q 16", "bge-small-en-q 16", "ppocr-v4-rec", "ppocr-cls");

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
      description =
          "Length of the live measurement, without what is asked alone (${DEFAULT-VALUE}).")
  private double seconds = 60;

  @Option(
      names = "--live-rounds",
      paramLabel = "N",
      description = "Into which it is cut; medians count (${DEFAULT-VALUE}).")
  private int liveRounds = 5;

  @Option(names = "--memory", paramLabel = "SIZE", description = "Of a device (${DEFAULT-VALUE}).")
  private String memory = "16GiB";

  @Option(names = "--seed", paramLabel = "N", description = "Of the requests (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Override
  public Integer call() throws Exception {
    boolean isFine = copies >= 1 && copies <= 100 && interval > 0 && liveInterval > 0;
    boolean isCut = liveRounds >= 1 && liveRounds <= 100;
    if (!isFine || !isCut || !(seconds >= 0.1 && seconds <= 3_600)) {
      throw new IllegalArgumentException(
          "--copies and --live-rounds are 1 to 100, intervals above 0, --seconds 0.1 to 3600: %d, %d,"
              .concat(" %s, %s, %s")
              .formatted(copies, liveRounds, interval, liveInterval, seconds));
    }
    Results results = new Results(PackingColumns.TITLE, PackingColumns.ALL, PackingColumns.NOTES);
    return new Experiment(spec, live, files, results).run(this::simulate, this::measure);
  }

  private void measure(Experiment measured) throws Exception {
    LiveServers servers = measured.servers("packing", memory);
    String row = "live, " + measured.kind();
    LivePacked packed = new LivePacked(row, servers, measured.models(), copies, liveInterval);
    Rows rows = measured.rows();
    rows.measure(row, () -> packed.tell(liveRounds, seconds, seed, rows, measured.results()));
  }

  private void simulate(Experiment simulated) {
    Results results = simulated.results();
    new Packed(Instance.all(copies), interval).tell(ByteSize.parse(memory).bytes(), seed, results);
    results.add(PAPER, PackingColumns.MODELS, 42);
    results.add(PAPER, PackingColumns.ADDED, 5);
    results.add(PAPER, PackingColumns.DEVICES, 1);
    results.add(PAPER, PackingColumns.ONE_EACH, 42);
    results.add(PAPER, PackingColumns.STATIC, 6);
  }
}
