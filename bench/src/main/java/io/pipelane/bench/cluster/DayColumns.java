package io.pipelane.bench.cluster;

import io.pipelane.bench.report.Column;
import io.pipelane.bench.report.Results;
import java.util.List;
import java.util.stream.Stream;

/** The columns of {@code bench day}. */
final class DayColumns {
  private static final double PERCENT = 100;

  static final Column REQUESTS = new Column("requests", "requests", 0);
  static final Column FAILED = new Column("failed", "failed", 0);
  static final Column JOBS = new Column("jobs", "jobs", 0);
  static final Compared MEAN = Compared.of("mean_ms", "mean ms", 2);
  static final Compared P99 = Compared.of("p99_ms", "p99 ms", 2);
  static final Compared COMPLETION = Compared.of("completion_min", "completion min", 1);
  static final Compared OVERSOLD = Compared.of("oversold", "oversold", 3);

  static final List<Column> ALL =
      Stream.of(
              List.of(REQUESTS),
              MEAN.columns(),
              P99.columns(),
              List.of(JOBS),
              COMPLETION.columns(),
              OVERSOLD.columns(),
              List.of(FAILED))
          .flatMap(List::stream)
          .toList();

  static final String TITLE = "A day of one device, lived and simulated";

  static final List<String> NOTES =
      List.of(
          "The simulator's requests (20 to 190 a second, a wave with noise, Poisson arrivals) and jobs"
              + " (virtual cluster D's, on one device) are sent to a server on this device. A minute of"
              + " the day takes --minute-millis: rates of requests stay, what jobs take is scaled. A"
              + " job is so many offline runs as the device does alone in its length; it begins at the"
              + " simulator's times for placing, and waits the minute that starting takes there.",
          "Simulated: the same rates and jobs, from what bench sharing measured of both models on this"
              + " device at some constant rates (--sharing). off: simulated over live, less 1; 5 % of"
              + " means and 10 % of p99 are aimed at.",
          "mean, p99: of all online requests, from the intended moment of sending. completion: of jobs,"
              + " from coming to end, in minutes of the day, mean. oversold: the time that they take"
              + " alone, over the time for which they had the device. Medians over days.");

  private DayColumns() {}

  /** A figure of both, and how far the simulated one is off. */
  record Compared(Column live, Column simulated, Column off) {
    static Compared of(String key, String title, int digits) {
      return new Compared(
          new Column("live_" + key, title + ", live", digits),
          new Column("simulated_" + key, "simulated", digits),
          new Column(key + "_off_percent", "off %", 1));
    }

    List<Column> columns() {
      return List.of(live, simulated, off);
    }

    void add(Results results, String row, double lived, double computed) {
      results.add(row, live, lived);
      results.add(row, simulated, computed);
      results.add(row, off, PERCENT * (computed / lived - 1));
    }
  }
}
