package io.pipelane.bench.fairness;

import io.pipelane.bench.report.Results;
import java.util.Arrays;
import java.util.List;

/**
 * A time in which the same jobs are there.
 *
 * @param from in seconds
 * @param jobs those that are there
 */
record Phase(double from, double to, List<String> jobs) {
  Phase {
    jobs = List.copyOf(jobs);
  }

  /** Adds what the jobs were served in it, but for a second at its beginning. */
  void tell(String row, Shares shares, double settling, Results results) {
    double begin = Math.min(from + settling, (from + to) / 2);
    double[] served = jobs.stream().mapToDouble(job -> shares.of(job, begin, to)).toArray();
    double all = Arrays.stream(served).sum();
    double least = Arrays.stream(served).min().orElse(0) / all;
    double most = Arrays.stream(served).max().orElse(0) / all;
    results.add(row, FairnessColumns.JOBS, jobs.size());
    results.add(row, FairnessColumns.FROM, from);
    results.add(row, FairnessColumns.TO, to);
    results.add(row, FairnessColumns.EQUAL, 1.0 / jobs.size());
    results.add(row, FairnessColumns.LEAST, least);
    results.add(row, FairnessColumns.MOST, most);
    results.add(row, FairnessColumns.ALL_JOBS, all);
  }
}
