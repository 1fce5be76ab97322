package io.pipelane.bench.measure;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.ToDoubleFunction;

/**
 * Latencies of the same requests under two conditions, round by round, and how sure the ratios of
 * their means and percentiles are: a bootstrap (Efron, 1979) of blocks (Künsch, 1989).
 */
public final class PairedRounds {
  /*
   * Latencies that follow each other are alike (they wait in one line), and rounds differ (servers
   * are started anew). So a resample draws rounds, and in each it draws blocks of requests that
   * follow each other, round the end to the beginning. Both conditions get the same draws. So what
   * their requests have in common, the times at which they come, does not blur the ratio.
   */
  private static final int RESAMPLES = 1_000;
  private static final double LOW = 0.025;
  private static final double HIGH = 0.975;

  private final List<Round> rounds = new ArrayList<>();

  /** The latency of each request under both conditions; NaN where it was not answered. */
  @SuppressWarnings("ArrayRecordComponent")
  private record Round(double[] base, double[] other) {}

  /**
   * A ratio of all rounds together, and the middle 95 % of what resamples give.
   *
   * @param ratio the other condition's over the base's
   */
  public record Interval(double ratio, double low, double high) {}

  /**
   * Adds a round.
   *
   * @param base latencies by request, one at least that is not NaN
   * @param other of the same requests
   */
  public void add(List<Double> base, List<Double> other) {
    if (base.size() != other.size() || answered(base) == 0 || answered(other) == 0) {
      throw new IllegalArgumentException(
          "%d requests of which %d were answered, against %d and %d"
              .formatted(base.size(), answered(base), other.size(), answered(other)));
    }
    rounds.add(new Round(array(base), array(other)));
  }

  private static long answered(List<Double> millis) {
    return millis.stream().filter(value -> !value.isNaN()).count();
  }

  private static double[] array(List<Double> values) {
    return values.stream().mapToDouble(Double::doubleValue).toArray();
  }

  /**
   * The ratios of some statistics; one round at least has been added.
   *
   * @param statistics of latencies in ascending order
   * @return in the statistics' order; the same for the same seed
   */
  public List<Interval> intervals(List<ToDoubleFunction<double[]>> statistics, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    double[][] drawn = new double[statistics.size()][RESAMPLES];
    for (int i = 0; i < RESAMPLES; i++) {
      double[] ratios = ratios(statistics, resample(random));
      for (int j = 0; j < ratios.length; j++) {
        drawn[j][i] = ratios[j];
      }
    }
    double[] measured = ratios(statistics, rounds);
    List<Interval> intervals = new ArrayList<>();
    for (int j = 0; j < measured.length; j++) {
      Arrays.sort(drawn[j]);
      intervals.add(
          new Interval(
              measured[j], Samples.quantile(drawn[j], LOW), Samples.quantile(drawn[j], HIGH)));
    }
    return intervals;
  }

  private List<Round> resample(SplittableRandom random) {
    List<Round> drawn = new ArrayList<>();
    for (int i = 0; i < rounds.size(); i++) {
      Round round = rounds.get(random.nextInt(rounds.size()));
      int requests = round.base.length;
      int block = (int) Math.ceil(Math.sqrt(requests));
      double[] base = new double[requests];
      double[] other = new double[requests];
      for (int at = 0; at < requests; at += block) {
        int from = random.nextInt(requests);
        for (int j = at; j < Math.min(requests, at + block); j++) {
          int request = (from + j - at) % requests;
          base[j] = round.base[request];
          other[j] = round.other[request];
        }
      }
      drawn.add(new Round(base, other));
    }
    return drawn;
  }

  private static double[] ratios(List<ToDoubleFunction<double[]>> statistics, List<Round> of) {
    double[] base = sorted(of.stream().map(Round::base).toList());
    double[] other = sorted(of.stream().map(Round::other).toList());
    return statistics.stream()
        .mapToDouble(statistic -> statistic.applyAsDouble(other) / statistic.applyAsDouble(base))
        .toArray();
  }

  /** All that were answered; an array sorts NaN behind everything else. */
  private static double[] sorted(List<double[]> parts) {
    double[] all = new double[parts.stream().mapToInt(part -> part.length).sum()];
    int filled = 0;
    for (double[] part : parts) {
      System.arraycopy(part, 0, all, filled, part.length);
      filled += part.length;
    }
    Arrays.sort(all);
    int answered = all.length;
    while (answered > 0 && Double.isNaN(all[answered - 1])) {
      answered--;
    }
    return Arrays.copyOf(all, answered);
  }
}
