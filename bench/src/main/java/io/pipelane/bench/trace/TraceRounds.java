package io.pipelane.bench.trace;

import io.pipelane.bench.report.Results;
import io.pipelane.bench.salus.JobTimes;
import io.pipelane.bench.salus.SimulationOptions;
import io.pipelane.config.section.SchedulingConfig.Policy;
import io.pipelane.switcher.jobs.JobHistory;
import io.pipelane.switcher.jobs.JobSimulator;
import io.pipelane.switcher.jobs.SimulatedJob;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * The rounds of {@code bench trace}: each trace under every policy, fifo first, whose outcomes are
 * added to the results.
 */
final class TraceRounds {
  /** Salus' table 1, in minutes. */
  private static final Map<Policy, JobTimes> PAPER =
      new EnumMap<>(
          Map.of(
              Policy.FIFO, new JobTimes(303.4, 167.6, 170.6, 251.1),
              Policy.SRTF, new JobTimes(306.0, 28.6, 53.4, 217.0),
              Policy.PACK, new JobTimes(287.4, 129.9, 145.5, 266.1),
              Policy.FAIR, new JobTimes(301.6, 58.5, 96.6, 281.2)));

  /** The first is what others are compared with. */
  static final List<Policy> POLICIES = List.of(Policy.FIFO, Policy.SRTF, Policy.PACK, Policy.FAIR);

  private final SimulationOptions device;
  private final Results results;
  private final Map<Policy, List<Double>> ratios = new EnumMap<>(Policy.class);

  TraceRounds(SimulationOptions device, Results results) {
    this.device = device;
    this.results = results;
  }

  /** Runs a trace; what happened under each policy. */
  Map<Policy, JobHistory> run(List<SimulatedJob> jobs) {
    JobHistory first = simulate(Policy.FIFO, jobs);
    JobTimes fifo = JobTimes.of(first);
    Map<Policy, JobHistory> histories = new EnumMap<>(Policy.class);
    for (Policy policy : POLICIES) {
      JobHistory history = policy == Policy.FIFO ? first : simulate(policy, jobs);
      JobTimes times = JobTimes.of(history);
      histories.put(policy, history);
      add(policy.toString(), times, fifo);
      ratios
          .computeIfAbsent(policy, _ -> new ArrayList<>())
          .add(fifo.completion() / times.completion());
    }
    return histories;
  }

  private JobHistory simulate(Policy policy, List<SimulatedJob> jobs) {
    return new JobSimulator(device.rules(policy)).run(jobs);
  }

  /** Adds the range of the ratios, and the paper's figures. */
  void finish() {
    ratios.forEach(
        (policy, values) -> {
          results.add(
              policy.toString(), TraceColumns.LEAST, values.stream().reduce(Math::min).orElse(0.0));
          results.add(
              policy.toString(), TraceColumns.MOST, values.stream().reduce(Math::max).orElse(0.0));
        });
    for (Policy policy : POLICIES) {
      add(
          "paper, " + policy,
          PAPER.getOrDefault(policy, new JobTimes(0, 0, 0, 0)),
          PAPER.getOrDefault(Policy.FIFO, new JobTimes(0, 0, 0, 0)));
    }
  }

  private void add(String row, JobTimes times, JobTimes fifo) {
    results.add(row, TraceColumns.MAKESPAN, times.makespan());
    results.add(row, TraceColumns.QUEUEING, times.queueing());
    results.add(row, TraceColumns.COMPLETION, times.completion());
    results.add(row, TraceColumns.COMPLETION_95, times.completion95());
    results.add(row, TraceColumns.TO_MAKESPAN, times.makespan() / fifo.makespan());
    results.add(row, TraceColumns.TO_QUEUEING, fifo.queueing() / times.queueing());
    results.add(row, TraceColumns.TO_COMPLETION, fifo.completion() / times.completion());
  }
}
