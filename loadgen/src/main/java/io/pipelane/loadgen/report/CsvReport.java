package io.pipelane.loadgen.report;

import io.pipelane.loadgen.experiment.Experiment;
import io.pipelane.loadgen.experiment.MeasuredRun;
import io.pipelane.loadgen.experiment.Step;
import io.pipelane.loadgen.server.ModelStatistics;
import io.pipelane.loadgen.server.ModelStatistics.Time;
import io.pipelane.loadgen.settings.LoadMode;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/**
 * An experiment as the CSV that perf_analyzer writes with {@code -f}: a line for each load, by
 * rising throughput, microseconds. Latencies are response times. Sending and receiving are not
 * timed by themselves: these columns are 0, and their time is in that of network and server.
 */
public final class CsvReport {
  private static final String COLUMNS =
      "Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,"
          + "Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,"
          + "p95 latency,p99 latency";
  private static final List<String> PARTS =
      List.of("queue", "compute_input", "compute_infer", "compute_output");
  private static final List<Double> PERCENTILES = List.of(50.0, 90.0, 95.0, 99.0);

  private static final String VERBOSE_COLUMNS = ",Avg latency,request/response,response wait";

  private final double rowsPerRequest;
  private final boolean verbose;

  /**
   * A form of the table.
   *
   * @param rowsPerRequest an inference is a row
   * @param verbose whether mean latencies have columns of their own
   */
  public CsvReport(double rowsPerRequest, boolean verbose) {
    this.rowsPerRequest = rowsPerRequest;
    this.verbose = verbose;
  }

  /** Writes an experiment. */
  public void write(Path file, Experiment experiment) throws IOException {
    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file))) {
      boolean closed = experiment.steps().getFirst().mode() instanceof LoadMode.Closed;
      out.println(
          (closed ? "Concurrency," : "Request Rate,") + COLUMNS + (verbose ? VERBOSE_COLUMNS : ""));
      experiment.steps().stream()
          .sorted(Comparator.comparingDouble(step -> step.answersPerSecond().mean()))
          .forEach(step -> out.println(line(step)));
      if (out.checkError()) {
        throw new IOException("cannot write " + file);
      }
    }
  }

  private String line(Step step) {
    StringBuilder line = new StringBuilder();
    switch (step.mode()) {
      case LoadMode.Closed closed -> line.append(closed.concurrency());
      case LoadMode.Open open -> line.append(number(open.arrivals().requestsPerSecond()));
    }
    line.append(',').append(number(step.answersPerSecond().mean() * rowsPerRequest));
    double mean = step.latency(Histogram::getMean).mean();
    double[] parts = PARTS.stream().mapToDouble(part -> meanNanos(step, part)).toArray();
    double rest = mean;
    for (double part : parts) {
      rest -= part;
    }
    line.append(",0,").append(micros(Math.max(0, rest)));
    for (double part : parts) {
      line.append(',').append(micros(part));
    }
    line.append(",0");
    for (double percentile : PERCENTILES) {
      line.append(',').append(micros(step.responseNanos(percentile).mean()));
    }
    if (verbose) {
      line.append(',').append(micros(mean)).append(",0,").append(micros(mean));
    }
    return line.toString();
  }

  /** Over all models and runs; 0 where the server does not tell. */
  private static double meanNanos(Step step, String part) {
    long count = 0;
    long nanos = 0;
    for (MeasuredRun run : step.runs()) {
      for (ModelStatistics model : run.server().values()) {
        Time time = model.times().getOrDefault(part, new Time(0, 0));
        count += time.count();
        nanos += time.nanos();
      }
    }
    return new Time(count, nanos).meanNanos();
  }

  private static String micros(double nanos) {
    return Long.toString(Math.round(nanos / 1e3));
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, "%.3f", value);
  }
}
