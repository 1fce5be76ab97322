package io.pipelane.bench.policies;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.model.BenchCase;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.Results;
import io.pipelane.config.section.SchedulingConfig.Policy;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench policies}: what runs next, and what that does to latencies. */
@Command(
    name = "policies",
    description =
        "Latencies of a mix of short and long models at the same offered load under "
            + "several policies of scheduling, in this process, on the CPU.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class PoliciesCommand implements Callable<Integer> {
  private static final Duration SIMULATED = Duration.ofMinutes(10);

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();

  @Option(
      names = "--policy",
      paramLabel = "NAME",
      split = ",",
      description = "Policies to compare with fifo (${DEFAULT-VALUE}).")
  private List<Policy> policies = List.of(Policy.SRTF, Policy.EDF, Policy.FAIR, Policy.PACK);

  @Option(
      names = "--load",
      paramLabel = "X",
      description = "Offered, of what the lanes can do (${DEFAULT-VALUE}).")
  private double load = 0.85;

  @Option(
      names = "--long-share",
      paramLabel = "X",
      description = "Of the requests, those for the long model (${DEFAULT-VALUE}).")
  private double longShare = 0.008;

  @Option(
      names = "--lanes",
      paramLabel = "N",
      description = "Inferences at a time; leave cores for the load (${DEFAULT-VALUE}).")
  private int lanes = 1;

  @Option(names = "--seed", paramLabel = "N", description = "Of the arrivals (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Option(
      names = "--restarts",
      paramLabel = "N",
      split = ",",
      description = {
        "Instead of policies, compare numbers of restarts (scheduling.restarts) with the first, under "
            + "srtf, on a device with room for the largest model alone."
      })
  private List<Integer> restarts = List.of();

  @Option(names = "--batching", description = "Let requests run together where that is right.")
  private boolean batching;

  @Override
  public Integer call() throws Exception {
    if (!(load > 0 && load <= 2)) {
      throw new IllegalArgumentException("--load must be above 0 and at most 2: " + load);
    }
    Path work = options.work();
    Path repository = work.resolve(batching ? "policies-batching" : "policies");
    PolicyMix mix = PolicyMix.of(BenchCase.all(repository), longShare);
    BenchCase.write(repository, mix.cases());
    if (!batching) {
      for (BenchCase benchCase : mix.cases()) {
        Path yaml = repository.resolve(benchCase.model()).resolve("pipelane.yaml");
        Files.writeString(yaml, "batching: {mode: never}\n");
      }
    }
    boolean comparesPolicies = restarts.isEmpty();
    PoliciesColumns columns = new PoliciesColumns(comparesPolicies ? "fifo" : "first");
    Results results =
        comparesPolicies
            ? new Results(PoliciesColumns.TITLE, columns.all(), PoliciesColumns.NOTES)
            : new Results(
                PoliciesColumns.RESTARTS_TITLE, columns.all(), PoliciesColumns.RESTARTS_NOTES);
    Map<String, String> memory =
        comparesPolicies
            ? Map.of()
            : Map.of("device.memory", Long.toString(roomForLargest(repository, work)));
    PolicyRounds rounds = new PolicyRounds(mix, ways(), columns, options.length(), seed);
    for (int round = 0; round < options.rounds(); round++) {
      Console.say(spec, "round " + (round + 1) + " of " + options.rounds());
      rounds.measure(round, way -> start(repository, work, way, memory), load * lanes, results);
    }
    if (comparesPolicies) {
      rounds.simulate(lanes, load * lanes, SIMULATED, results);
    }
    options.publish(spec, results, rounds.runtimeVersion());
    return 0;
  }

  /** The first is what the others are compared with. */
  private List<Scheduling> ways() {
    return restarts.isEmpty()
        ? Stream.concat(Stream.of(Policy.FIFO), policies.stream())
            .distinct()
            .map(Scheduling::by)
            .toList()
        : restarts.stream().distinct().map(Scheduling::withRestarts).toList();
  }

  private static long roomForLargest(Path repository, Path work)
      throws IOException, InterruptedException {
    try (LocalPipelane server = LocalPipelane.start(repository, work)) {
      return server.roomForLargest();
    }
  }

  private LocalPipelane start(
      Path repository, Path work, Scheduling way, Map<String, String> memory)
      throws IOException, InterruptedException {
    Map<String, String> settings = new HashMap<>(way.settings());
    settings.putAll(memory);
    settings.put("device.lanes", Integer.toString(lanes));
    settings.put("queue.max-requests", "1000000");
    return LocalPipelane.start(repository, work, settings);
  }
}
