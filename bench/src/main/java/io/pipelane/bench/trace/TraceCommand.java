package io.pipelane.bench.trace;

import io.pipelane.bench.live.Experiment;
import io.pipelane.bench.live.LiveOptions;
import io.pipelane.bench.live.LiveServers;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.plot.LinePlot;
import io.pipelane.bench.report.ReportOptions;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.salus.JobTimes;
import io.pipelane.bench.salus.JobTrace;
import io.pipelane.bench.salus.SimulationOptions;
import io.pipelane.bench.salus.Workloads;
import io.pipelane.config.section.SchedulingConfig.Policy;
import io.pipelane.switcher.jobs.JobHistory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench trace}: Salus' hundred jobs under its four policies. */
@Command(
    name = "trace",
    description =
        "Makespan, queueing and completion times of a trace of training jobs under Salus' "
            + "policies in the simulator, and of a short trace live, in this process; on a GPU with "
            + "models of the zoo.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class TraceCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private SimulationOptions device = new SimulationOptions();

  @Mixin
  private LiveOptions live =
      new LiveOptions("ppocr-cls", "minilm-l6-v2 16", "bge-small-en-q 16", "ppocr-v4-rec");

  @Mixin private ReportOptions files = new ReportOptions();

  @Option(names = "--jobs", paramLabel = "N", description = "Of a trace (${DEFAULT-VALUE}).")
  private int jobs = 100;

  @Option(
      names = "--mean",
      paramLabel = "MIN",
      description = "Of a job's duration alone (${DEFAULT-VALUE}).")
  private double mean = 3.0;

  @Option(
      names = "--spread",
      paramLabel = "X",
      description = "Of the logarithm of durations (${DEFAULT-VALUE}).")
  private double spread = 1.5;

  @Option(
      names = "--window",
      paramLabel = "MIN",
      description = "Within which the jobs come (${DEFAULT-VALUE}).")
  private double window = 30;

  @Option(names = "--traces", paramLabel = "N", description = "Of other seeds (${DEFAULT-VALUE}).")
  private int traces = 10;

  @Option(names = "--seed", paramLabel = "N", description = "Of the first one (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Option(names = "--live-jobs", paramLabel = "N", description = "Live (${DEFAULT-VALUE}).")
  private int liveJobs = 24;

  @Option(
      names = "--live-iterations",
      paramLabel = "N",
      description = "Of a job in the mean, live (${DEFAULT-VALUE}).")
  private int liveIterations = 40;

  @Option(
      names = "--live-window",
      paramLabel = "S",
      description = "Within which the jobs come, live (${DEFAULT-VALUE}).")
  private double liveWindow = 1;

  @Option(
      names = "--live-lanes",
      paramLabel = "N",
      description = "Of pack, live (${DEFAULT-VALUE}).")
  private int liveLanes = 2;

  @Option(
      names = "--live-rounds",
      paramLabel = "N",
      description = "With jobs of other seeds, live (${DEFAULT-VALUE}).")
  private int liveRounds = 2;

  @Option(
      names = "--svg",
      paramLabel = "FILE",
      description = "Draw the distribution of completion times in the first trace, too.")
  private @Nullable Path svg;

  @Option(
      names = "--snapshot",
      paramLabel = "FILE",
      description = "Draw six jobs of the first trace under srtf, too.")
  private @Nullable Path snapshot;

  @Override
  public Integer call() throws Exception {
    if (traces < 1 || traces > 1_000) {
      throw new IllegalArgumentException("--traces must be between 1 and 1000: " + traces);
    }
    boolean isLiveFine = liveJobs >= 1 && liveJobs <= 1_000 && liveRounds >= 1;
    boolean isShort = liveIterations >= 1 && liveIterations <= 10_000 && liveRounds <= 1_000;
    if (!isLiveFine || !isShort || !(liveWindow > 0 && liveWindow <= 3_600)) {
      throw new IllegalArgumentException(
          "--live-jobs and --live-rounds are 1 to 1000, --live-iterations 1 to 10000, --live-window"
              + " above 0");
    }
    Results results = new Results(TraceColumns.TITLE, TraceColumns.ALL, TraceColumns.NOTES);
    return new Experiment(spec, live, files, results).run(this::simulate, this::measure);
  }

  private void measure(Experiment measured) throws Exception {
    List<AskedModel> models = measured.models();
    for (int round = 0; round < liveRounds; round++) {
      LiveServers servers = measured.servers("trace", device.memory());
      LiveTrace.write(
              measured.label(),
              servers,
              models,
              liveJobs,
              liveIterations,
              spread,
              liveWindow,
              seed + round)
          .tell(TraceRounds.POLICIES, liveLanes, measured.rows(), measured.results());
    }
  }

  private void simulate(Experiment simulated) throws IOException {
    Workloads workloads = Workloads.read();
    JobTrace trace = new JobTrace(jobs, mean, spread, window);
    TraceRounds rounds = new TraceRounds(device, simulated.results());
    for (int number = 0; number < traces; number++) {
      Map<Policy, JobHistory> histories = rounds.run(trace.draw(workloads, seed + number));
      if (number == 0) {
        draw(histories);
      }
    }
    rounds.finish();
  }

  private void draw(Map<Policy, JobHistory> histories) throws IOException {
    if (svg != null) {
      LinePlot plot =
          new LinePlot("Share of the jobs that are done within so many minutes of their coming");
      histories.forEach(
          (policy, history) ->
              plot.addDistribution(policy.toString(), JobTimes.completions(history)));
      plot.write(svg);
    }
    @Nullable JobHistory srtf = histories.get(Policy.SRTF);
    if (snapshot != null && srtf != null) {
      Snapshot.write(snapshot, srtf);
    }
  }
}
