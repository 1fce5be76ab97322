package io.pipelane.bench.grouping;

import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Results;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench grouping}: how groups are chosen, and what that is worth. */
@Command(
    name = "grouping",
    description =
        "Time to choose groups, by Pipelane's way and by PipeSwitch's Algorithm 1, and "
            + "the latency of cold starts that each way of grouping is predicted to give; on "
            + "recorded plans.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class GroupingCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();

  @Option(
      names = "--plans",
      paramLabel = "FILE",
      description = "Plans that bench switch has recorded; an H200's unless told otherwise.")
  private @Nullable Path plans;

  @Option(
      names = "--limit",
      paramLabel = "S",
      description = "Seconds after which a search of Algorithm 1 is given up (${DEFAULT-VALUE}).")
  private double limit = 10;

  @Option(
      names = "--computation",
      paramLabel = "FACTOR",
      description = "How many times as long layers compute as was recorded (${DEFAULT-VALUE}).")
  private double computation = 1;

  @Override
  public Integer call() throws Exception {
    if (!(limit > 0 && limit <= 86_400)) {
      throw new IllegalArgumentException("--limit must be above 0, at most 86400: " + limit);
    }
    if (!(computation > 0 && computation <= 1_000)) {
      throw new IllegalArgumentException(
          "--computation must be above 0, at most 1000: " + computation);
    }
    PrintWriter out = spec.commandLine().getOut();
    RecordedPlans recorded = plans == null ? RecordedPlans.h200() : RecordedPlans.read(plans);
    Results results =
        new Results(
            GroupingColumns.TITLE,
            GroupingColumns.ALL,
            GroupingColumns.notes(recorded, computation));
    Duration searching = Duration.ofNanos(Math.round(limit * 1e9));
    GroupingRounds rounds = new GroupingRounds(options.rounds(), searching, results);
    for (RecordedPlans.Model model : recorded.models()) {
      out.println("measuring " + model.name());
      out.flush();
      rounds.measure(model.name(), recorded.pipeline(model, computation));
    }
    options.publish(spec, results, "none");
    return 0;
  }
}
