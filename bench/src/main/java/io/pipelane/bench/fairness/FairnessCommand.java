package io.pipelane.bench.fairness;

import io.pipelane.bench.live.Experiment;
import io.pipelane.bench.live.LiveOptions;
import io.pipelane.bench.live.LiveServers;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.report.ReportOptions;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.salus.SimulationOptions;
import io.pipelane.config.section.SchedulingConfig.Policy;
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

/** {@code bench fairness}: what jobs are served under fair while others come and go. */
@Command(
    name = "fairness",
    description =
        "Shares of three equal jobs that join and leave under the policy fair, in the "
            + "simulator and live, in this process; on a GPU with a model of the zoo.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class FairnessCommand implements Callable<Integer> {
  private static final int JOBS = 3;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private SimulationOptions device = new SimulationOptions();

  /** About half of a millisecond a run: many answers in a second. */
  @Mixin private LiveOptions live = new LiveOptions("ppocr-cls");

  @Mixin private ReportOptions files = new ReportOptions();

  @Option(
      names = "--step",
      paramLabel = "S",
      description = "From a join or leave to the next, live (${DEFAULT-VALUE}).")
  private double step = 4;

  @Option(
      names = "--callers",
      paramLabel = "N",
      split = ",",
      description = "Of the first, second and third job, live (${DEFAULT-VALUE}).")
  private List<Integer> callers = List.of(4, 2, 2);

  @Option(
      names = "--window",
      paramLabel = "S",
      description = "Of a point in the drawing of the simulated jobs (${DEFAULT-VALUE}).")
  private double window = 3;

  @Option(names = "--svg", paramLabel = "FILE", description = "Draw the simulated shares, too.")
  private @Nullable Path svg;

  @Option(names = "--live-svg", paramLabel = "FILE", description = "Draw the live shares, too.")
  private @Nullable Path liveSvg;

  @Override
  public Integer call() throws Exception {
    if (!(step >= 0.1 && step <= 600) || callers.size() != JOBS || !(window > 0)) {
      throw new IllegalArgumentException(
          "--step is 0.1 to 600 seconds, --callers three numbers, --window above 0: %s, %s, %s"
              .formatted(step, callers, window));
    }
    Results results =
        new Results(FairnessColumns.TITLE, FairnessColumns.ALL, FairnessColumns.NOTES);
    return new Experiment(spec, live, files, results).run(this::simulate, this::measure);
  }

  private void simulate(Experiment simulated) throws IOException {
    Shares shares = SimulatedJobs.run(device, simulated.results());
    if (svg != null) {
      shares.draw(svg, window, "Share of the device by seconds, simulated");
    }
  }

  private void measure(Experiment measured) throws Exception {
    List<AskedModel> models = measured.models();
    if (models.size() != 1) {
      throw new IllegalArgumentException("--model takes one: the jobs are equal");
    }
    LiveServers servers = measured.servers("fairness", device.memory());
    AskedModel asked = models.getFirst();
    LiveJobs jobs = new LiveJobs(asked, servers.add(asked, JOBS), callers, step);
    for (Policy policy : List.of(Policy.FAIR, Policy.FIFO)) {
      String row = measured.label() + ", " + policy;
      measured.rows().measure(row, () -> measure(row, policy, servers, jobs, measured.results()));
    }
  }

  private void measure(
      String row, Policy policy, LiveServers servers, LiveJobs jobs, Results results)
      throws Exception {
    try (LocalPipelane server = servers.start(policy, 1, Map.of())) {
      Shares shares = jobs.run(row, server, results);
      if (policy == Policy.FAIR && liveSvg != null) {
        shares.draw(liveSvg, step / 8, "Share of the first job's rate alone by seconds, live");
      }
    }
  }
}
