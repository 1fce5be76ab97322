package io.pipelane.bench.fairness;

import io.pipelane.bench.report.Results;
import io.pipelane.bench.salus.SimulationOptions;
import io.pipelane.bench.salus.Workload;
import io.pipelane.bench.salus.Workloads;
import io.pipelane.config.section.SchedulingConfig.Policy;
import io.pipelane.switcher.jobs.JobHistory;
import io.pipelane.switcher.jobs.JobRecord;
import io.pipelane.switcher.jobs.JobSimulator;
import io.pipelane.switcher.jobs.SimulatedJob;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/** Three trainings of one model, in the simulator. */
final class SimulatedJobs {
  private static final String WORKLOAD = "inception3_50";
  private static final int[] ITERATIONS = {145, 75, 35};
  private static final long STEP_NANOS = 15_000_000_000L;
  private static final double NANOS_PER_SECOND = 1e9;
  private static final double MILLIS_PER_SECOND = 1e3;

  private SimulatedJobs() {}

  /** Runs them, and tells of each time between two changes. */
  static Shares run(SimulationOptions device, Results results) throws IOException {
    Workload workload = Workloads.read().named(WORKLOAD);
    List<SimulatedJob> jobs = new ArrayList<>();
    for (int i = 0; i < ITERATIONS.length; i++) {
      jobs.add(workload.job("job " + (i + 1), i * STEP_NANOS, ITERATIONS[i]));
    }
    JobHistory history = new JobSimulator(device.rules(Policy.FAIR)).run(jobs);
    Shares shares = new Shares();
    history
        .intervals()
        .forEach(
            interval ->
                shares.served(
                    interval.job(),
                    seconds(interval.fromNanos()),
                    seconds(interval.toNanos()),
                    seconds(interval.nanos())));
    for (Phase phase : phases(history)) {
      String row = "simulated, from %.0f s".formatted(phase.from());
      phase.tell(row, shares, 1, results);
      history.records().stream()
          .filter(record -> seconds(record.job().arrivalNanos()) == phase.from())
          .forEach(
              record ->
                  results.add(
                      row,
                      FairnessColumns.REACTION,
                      seconds(record.queuedNanos()) * MILLIS_PER_SECOND));
    }
    return shares;
  }

  private static List<Phase> phases(JobHistory history) {
    TreeSet<Double> changes = new TreeSet<>();
    for (JobRecord record : history.records()) {
      changes.add(seconds(record.job().arrivalNanos()));
      changes.add(seconds(record.endedNanos()));
    }
    List<Phase> phases = new ArrayList<>();
    for (double from = changes.first(); from < changes.last(); from = changes.higher(from)) {
      double begin = from;
      List<String> present =
          history.records().stream()
              .filter(record -> seconds(record.job().arrivalNanos()) <= begin)
              .filter(record -> seconds(record.endedNanos()) > begin)
              .map(record -> record.job().id())
              .toList();
      phases.add(new Phase(begin, changes.higher(begin), present));
    }
    return phases;
  }

  private static double seconds(long nanos) {
    return nanos / NANOS_PER_SECOND;
  }
}
