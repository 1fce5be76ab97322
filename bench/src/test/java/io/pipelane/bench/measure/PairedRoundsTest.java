package io.pipelane.bench.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.bench.measure.PairedRounds.Interval;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.ToDoubleFunction;
import org.junit.jupiter.api.Test;

class PairedRoundsTest {
  private final long seed = new Random().nextLong();
  private final Random random = new Random(seed);

  /** Exponential latencies, each of which has a share of the one before. */
  private List<Double> latencies(int count, double alike) {
    List<Double> millis = new ArrayList<>();
    double latest = 1;
    for (int i = 0; i < count; i++) {
      latest = alike * latest - (1 - alike) * Math.log(1 - random.nextDouble());
      millis.add(latest);
    }
    return millis;
  }

  private static double mean(double[] millis) {
    double sum = 0;
    for (double value : millis) {
      sum += value;
    }
    return sum / millis.length;
  }

  private static double p99(double[] millis) {
    return Samples.quantile(millis, 0.99);
  }

  private static List<Double> times(double factor, List<Double> millis) {
    return millis.stream().map(value -> factor * value).toList();
  }

  private List<Double> shuffled(List<Double> values) {
    List<Double> other = new ArrayList<>(values);
    Collections.shuffle(other, random);
    return other;
  }

  private Interval interval(PairedRounds rounds, ToDoubleFunction<double[]> statistic) {
    return rounds.intervals(List.of(statistic), seed).getFirst();
  }

  private static double width(Interval interval) {
    return interval.high() - interval.low();
  }

  @Test
  void intervals_everyRequestTakesTwiceAsLong_areCertain() {
    PairedRounds rounds = new PairedRounds();
    for (int i = 0; i < 3; i++) {
      List<Double> base = latencies(500, 0);
      rounds.add(base, times(2, base));
    }
    Interval mean = interval(rounds, PairedRoundsTest::mean);
    assertEquals(2, mean.ratio(), 1e-9);
    assertEquals(2, mean.low(), 1e-9);
    assertEquals(2, mean.high(), 1e-9);
  }

  /**
   * About nine of ten do; that fewer than 70 of 100 do is no chance. They are about 0.4 wide; that
   * they are twice as wide in the mean is none either.
   */
  @Test
  void intervals_independentLatencies_holdTheTruthNearlyAlways() {
    int held = 0;
    double widths = 0;
    for (int i = 0; i < 100; i++) {
      PairedRounds rounds = new PairedRounds();
      rounds.add(latencies(400, 0), times(1.5, latencies(400, 0)));
      Interval interval = rounds.intervals(List.of(PairedRoundsTest::mean), i).getFirst();
      held += interval.low() <= 1.5 && interval.high() >= 1.5 ? 1 : 0;
      widths += width(interval);
    }
    int of100 = held;
    double wide = widths / 100;
    assertTrue(of100 >= 70, () -> "seed %d: %d of 100".formatted(seed, of100));
    assertTrue(wide < 0.8, () -> "seed %d: %s wide".formatted(seed, wide));
  }

  @Test
  void intervals_latenciesThatAreLikeThoseBefore_areWider() {
    List<Double> base = latencies(4_000, 0.97);
    List<Double> other = latencies(4_000, 0.97);
    PairedRounds alike = new PairedRounds();
    alike.add(base, other);
    PairedRounds mixed = new PairedRounds();
    mixed.add(shuffled(base), shuffled(other));
    double wider =
        width(interval(alike, PairedRoundsTest::mean))
            / width(interval(mixed, PairedRoundsTest::mean));
    assertTrue(wider > 1.5, () -> "seed %d: %s times".formatted(seed, wider));
  }

  @Test
  void intervals_roundsThatDiffer_areWiderThanOneRoundTells() {
    List<Double> base = latencies(500, 0);
    PairedRounds same = new PairedRounds();
    PairedRounds different = new PairedRounds();
    for (double factor : new double[] {1, 1.2, 1.4}) {
      same.add(base, times(1.2, base));
      different.add(base, times(factor, base));
    }
    assertEquals(0, width(interval(same, PairedRoundsTest::p99)), 1e-9);
    assertTrue(width(interval(different, PairedRoundsTest::p99)) > 0.1, () -> "seed " + seed);
  }

  @Test
  void intervals_sameSeed_areTheSame() {
    PairedRounds rounds = new PairedRounds();
    rounds.add(latencies(200, 0.5), latencies(200, 0.5));
    assertEquals(
        rounds.intervals(List.of(PairedRoundsTest::mean, PairedRoundsTest::p99), 7),
        rounds.intervals(List.of(PairedRoundsTest::mean, PairedRoundsTest::p99), 7));
  }

  @Test
  void add_requestsThatWereNotAnswered_areLeftOut() {
    PairedRounds rounds = new PairedRounds();
    rounds.add(List.of(1.0, 2.0, 3.0), List.of(2.0, Double.NaN, 6.0));
    assertEquals(2, rounds.intervals(List.of(PairedRoundsTest::mean), 1).getFirst().ratio(), 1e-9);
    assertThrows(
        IllegalArgumentException.class, () -> rounds.add(List.of(1.0), List.of(Double.NaN)));
    assertThrows(IllegalArgumentException.class, () -> rounds.add(List.of(1.0), List.of(1.0, 2.0)));
  }
}
