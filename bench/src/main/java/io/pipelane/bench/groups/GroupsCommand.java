package io.pipelane.bench.groups;

import io.pipelane.bench.live.Experiment;
import io.pipelane.bench.live.LiveOptions;
import io.pipelane.bench.live.LiveServers;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.report.ReportOptions;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.report.Rows;
import io.pipelane.bench.salus.SimulationOptions;
import io.pipelane.bench.salus.Workload;
import io.pipelane.bench.salus.Workloads;
import io.pipelane.config.section.SchedulingConfig.Policy;
import io.pipelane.switcher.jobs.JobHistory;
import io.pipelane.switcher.jobs.JobSimulator;
import io.pipelane.switcher.jobs.SimulatedJob;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench groups}: hyper-parameter groups, packed and one after another. */
@Command(
    name = "groups",
    description =
        "How much sooner groups of equal jobs are done when they are packed, in the "
            + "simulator, and live in small, in this process; on a GPU with models of the zoo.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class GroupsCommand implements Callable<Integer> {
  private static final double NANOS_PER_MINUTE = 60e9;
  private static final double BYTES_PER_GIB = 1 << 30;

  /** Salus' figure 11. */
  private static final Map<String, Double> PAPER = new LinkedHashMap<>();

  static {
    PAPER.put("resnet50_50", 1.07);
    PAPER.put("superres_128", 2.38);
  }

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private SimulationOptions device = new SimulationOptions();
  @Mixin private LiveOptions live = new LiveOptions("minilm-l6-v2 16");
  @Mixin private ReportOptions files = new ReportOptions();

  @Option(names = "--jobs", paramLabel = "N", description = "Of a group (${DEFAULT-VALUE}).")
  private int jobs = 300;

  @Option(names = "--iterations", paramLabel = "N", description = "Of a job (${DEFAULT-VALUE}).")
  private int iterations = 500;

  @Option(names = "--live-jobs", paramLabel = "N", description = "Live (${DEFAULT-VALUE}).")
  private int liveJobs = 12;

  @Option(
      names = "--live-iterations",
      paramLabel = "N",
      description = "Of a job, live (${DEFAULT-VALUE}).")
  private int liveIterations = 100;

  @Option(
      names = "--live-lanes",
      paramLabel = "N",
      description = "Of pack, live (${DEFAULT-VALUE}).")
  private int liveLanes = 2;

  @Option(
      names = "--live-rounds",
      paramLabel = "N",
      description = "Live; medians count (${DEFAULT-VALUE}).")
  private int liveRounds = 3;

  @Override
  public Integer call() throws Exception {
    if (jobs < 1 || jobs > 10_000 || iterations < 1 || iterations > 10_000) {
      throw new IllegalArgumentException(
          "--jobs and --iterations must be between 1 and 10000: " + jobs + ", " + iterations);
    }
    boolean isLiveFine = liveJobs >= 1 && liveJobs <= 1_000 && liveRounds >= 1;
    if (!isLiveFine || liveIterations < 1 || liveIterations > 10_000 || liveRounds > 1_000) {
      throw new IllegalArgumentException(
          "--live-jobs and --live-rounds are 1 to 1000, --live-iterations 1 to 10000");
    }
    Results results = new Results(GroupsColumns.TITLE, GroupsColumns.ALL, GroupsColumns.NOTES);
    return new Experiment(spec, live, files, results).run(this::simulate, this::measure);
  }

  private void measure(Experiment measured) throws Exception {
    for (AskedModel asked : measured.models()) {
      String row = measured.label() + ", " + asked.name();
      LiveServers servers = measured.servers("groups-" + asked.model(), device.memory());
      LiveGroup group = new LiveGroup(row, servers, asked, liveJobs);
      for (int round = 0; round < liveRounds; round++) {
        measure(row, group, measured.rows(), measured.results());
      }
    }
  }

  private void measure(String row, LiveGroup group, Rows rows, Results results)
      throws InterruptedException {
    double[] inTurn = {Double.NaN};
    rows.measure(row + ", fifo", () -> inTurn[0] = group.inTurn(liveIterations, results));
    OptionalDouble fifo =
        Double.isNaN(inTurn[0]) ? OptionalDouble.empty() : OptionalDouble.of(inTurn[0]);
    rows.measure(row + ", pack", () -> group.packed(liveIterations, liveLanes, fifo, results));
  }

  private void simulate(Experiment simulated) throws IOException {
    Results results = simulated.results();
    Workloads workloads = Workloads.read();
    for (Map.Entry<String, Double> group : PAPER.entrySet()) {
      Workload workload = workloads.named(group.getKey());
      String row = group.getKey() + ", as in the paper";
      compare(row, workload, workload.startNanos(), results);
      results.add(row, GroupsColumns.PAPER, group.getValue());
      compare(group.getKey() + ", in Pipelane", workload, 0, results);
    }
  }

  private void compare(String row, Workload workload, long startNanos, Results results) {
    List<SimulatedJob> group =
        IntStream.range(0, jobs)
            .mapToObj(i -> workload.job(workload.name() + "-" + i, 0, iterations, startNanos))
            .toList();
    JobHistory fifo = new JobSimulator(device.rules(Policy.FIFO)).run(group);
    JobHistory pack = new JobSimulator(device.rules(Policy.PACK)).run(group);
    results.add(row, GroupsColumns.FIFO, fifo.makespanNanos() / NANOS_PER_MINUTE);
    results.add(row, GroupsColumns.PACK, pack.makespanNanos() / NANOS_PER_MINUTE);
    results.add(row, GroupsColumns.RATIO, fifo.makespanNanos() / (double) pack.makespanNanos());
    results.add(row, GroupsColumns.LANES, pack.mostLanes());
    results.add(row, GroupsColumns.MEMORY, pack.mostBytes() / BYTES_PER_GIB);
    results.add(row, GroupsColumns.SHARE, workload.deviceShare());
  }
}
