package io.pipelane.bench.fairness;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.model.BenchCase;
import io.pipelane.bench.model.ModelCopies;
import io.pipelane.bench.report.ReportOptions;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.salus.SimulationOptions;
import io.pipelane.config.SchedulingConfig.Policy;
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
            + "simulator and live, in this process, on the CPU.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class FairnessCommand implements Callable<Integer> {
  private static final int JOBS = 3;

  /** About half of a millisecond a run: many answers in a second. */
  private static final String CASE = "ppocr-cls";

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private SimulationOptions device = new SimulationOptions();
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

  @Option(names = "--simulated-only", description = "Leave the CPU out.")
  private boolean simulatedOnly;

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
    Shares simulated = SimulatedJobs.run(device, results);
    if (svg != null) {
      simulated.draw(svg, window, "Share of the device by seconds, simulated");
    }
    String runtime = simulatedOnly ? "" : live(results);
    files.publish(spec, results, runtime, Map.of());
    return 0;
  }

  private String live(Results results) throws Exception {
    Path work = files.work();
    BenchCase served =
        BenchCase.all(work.resolve("fairness-demo")).stream()
            .filter(each -> each.name().startsWith(CASE))
            .findFirst()
            .orElseThrow();
    BenchCase.write(work.resolve("fairness-demo"), List.of(served));
    Path repository = work.resolve("fairness");
    LiveJobs jobs =
        new LiveJobs(
            ModelCopies.write(repository, served.file(), "job", JOBS),
            served.inputs(),
            callers,
            step);
    String runtime = "";
    for (Policy policy : List.of(Policy.FAIR, Policy.FIFO)) {
      try (LocalPipelane server =
          LocalPipelane.start(
              repository,
              work,
              Map.of("scheduling.policy", policy.toString(), "device.lanes", "1"))) {
        Shares shares = jobs.run("live, " + policy, server, results);
        runtime = server.runtimeVersion();
        if (policy == Policy.FAIR && liveSvg != null) {
          shares.draw(liveSvg, step / 8, "Share of the first job's rate alone by seconds, live");
        }
      }
    }
    return runtime;
  }
}
