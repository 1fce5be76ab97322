package io.pipelane.loadgen.settings;

import java.time.Duration;
import java.util.List;
import java.util.Locale;

/** The pattern by which the requests of an open loop are spread over time. */
public sealed interface ArrivalPattern {
  /** The highest rate, in requests per second. */
  double MAXIMUM_RATE = 10_000_000;

  /** Requests per second, on the average of a long time. */
  double requestsPerSecond();

  /**
   * The rate as options, sweeps and searches count it, in requests per second: {@link
   * #requestsPerSecond} but for bursts.
   */
  default double askedRate() {
    return requestsPerSecond();
  }

  /** That rate in words, like {@code 100.0 requests/s}. */
  default String label() {
    return String.format(Locale.ROOT, "%.1f requests/s", askedRate());
  }

  /** In words, like {@code 100.0 requests/s (poisson)}. */
  String description();

  /** Arrivals at equal intervals. */
  record Constant(double requestsPerSecond) implements ArrivalPattern {
    public Constant {
      requireRate(requestsPerSecond);
    }

    @Override
    public String description() {
      return rate(requestsPerSecond, "constant");
    }
  }

  /** Arrivals at exponential intervals, which know nothing of each other. */
  record Poisson(double requestsPerSecond) implements ArrivalPattern {
    public Poisson {
      requireRate(requestsPerSecond);
    }

    @Override
    public String description() {
      return rate(requestsPerSecond, "poisson");
    }
  }

  /**
   * Arrivals at intervals of a gamma distribution.
   *
   * @param variation the intervals' coefficient of variation, standard deviation over mean: 1 is
   *     Poisson, above it requests come in clusters, below it they are more regular
   */
  record Gamma(double requestsPerSecond, double variation) implements ArrivalPattern {
    public Gamma {
      requireRate(requestsPerSecond);
      if (!(variation >= 0.01 && variation <= 100)) {
        throw new IllegalArgumentException(
            "the coefficient of variation must be between 0.01 and 100: " + variation);
      }
    }

    @Override
    public String description() {
      return rate(requestsPerSecond, "gamma, CV " + variation);
    }
  }

  /** Poisson arrivals in bursts of a fixed length, with silence between them. */
  record Bursts(double requestsPerSecondWithin, Duration on, Duration off)
      implements ArrivalPattern {
    public Bursts {
      requireRate(requestsPerSecondWithin);
      if (!on.isPositive() || !off.isPositive()) {
        throw new IllegalArgumentException(
            "bursts and the silence between them must last: %s, %s"
                .formatted(Span.seconds(on), Span.seconds(off)));
      }
    }

    @Override
    public double requestsPerSecond() {
      double length = on.toNanos();
      return requestsPerSecondWithin * length / (length + off.toNanos());
    }

    @Override
    public double askedRate() {
      return requestsPerSecondWithin;
    }

    @Override
    public String label() {
      return String.format(Locale.ROOT, "%.1f requests/s in bursts", requestsPerSecondWithin);
    }

    @Override
    public String description() {
      return rate(
          requestsPerSecondWithin, "bursts of " + on.toMillis() + " ms every " + cycleMillis());
    }

    private String cycleMillis() {
      return on.plus(off).toMillis() + " ms";
    }
  }

  /** Arrivals at intervals that are listed, from the first one again behind the last one. */
  record Listed(List<Duration> intervals) implements ArrivalPattern {
    /** The most intervals of a list. */
    public static final int MAXIMUM_INTERVALS = 1_000_000;

    public Listed {
      intervals = List.copyOf(intervals);
      if (intervals.isEmpty() || intervals.size() > MAXIMUM_INTERVALS) {
        throw new IllegalArgumentException(
            "between 1 and "
                + MAXIMUM_INTERVALS
                + " intervals between requests can be listed: "
                + intervals.size());
      }
      requireRate(mean(intervals));
    }

    @Override
    public double requestsPerSecond() {
      return mean(intervals);
    }

    @Override
    public String description() {
      return rate(requestsPerSecond(), intervals.size() + " listed intervals");
    }

    private static double mean(List<Duration> intervals) {
      return intervals.size() * 1e9 / intervals.stream().mapToLong(Duration::toNanos).sum();
    }
  }

  /** The requests of a trace exactly, models and all. */
  record Replay(Trace trace) implements ArrivalPattern {
    @Override
    public double requestsPerSecond() {
      return trace.requestsPerSecond();
    }

    @Override
    public String description() {
      return rate(requestsPerSecond(), "a trace of " + trace.size() + " requests");
    }
  }

  private static void requireRate(double requestsPerSecond) {
    if (!(requestsPerSecond > 0 && requestsPerSecond <= MAXIMUM_RATE)) {
      throw new IllegalArgumentException(
          "rate must be above 0 and at most 10000000 requests per second: " + requestsPerSecond);
    }
  }

  private static String rate(double requestsPerSecond, String pattern) {
    return String.format(Locale.ROOT, "%.1f requests/s (%s)", requestsPerSecond, pattern);
  }
}
