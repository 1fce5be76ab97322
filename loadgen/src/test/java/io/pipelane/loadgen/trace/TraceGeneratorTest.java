package io.pipelane.loadgen.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TraceGeneratorTest {
  private static final List<String> MODELS =
      IntStream.range(0, 100).mapToObj(i -> "m" + i).toList();
  private static final Duration LENGTH = Duration.ofMinutes(10);

  @Test
  void generate_manyModels_rateAndSkewOfServerlessFunctions() {
    for (long seed = 1; seed <= 5; seed++) {
      List<TracedRequest> requests = new TraceGenerator(seed).generate(MODELS, 100, LENGTH);

      assertEquals(100, requests.size() / 600.0, 15, "seed " + seed);
      List<Long> counts =
          requests.stream()
              .collect(Collectors.groupingBy(TracedRequest::model, Collectors.counting()))
              .values()
              .stream()
              .sorted(Comparator.reverseOrder())
              .toList();
      long popular = counts.subList(0, 20).stream().mapToLong(count -> count).sum();
      assertTrue(popular > 0.7 * requests.size(), "seed " + seed + ": " + popular);
      assertTrue(counts.getFirst() > 300 * counts.getLast(), "seed " + seed);
    }
  }

  @Test
  void generate_manyModels_someAreTimers() {
    Map<String, List<Double>> times =
        new TraceGenerator(3)
            .generate(MODELS, 1000, LENGTH).stream()
                .collect(
                    Collectors.groupingBy(
                        TracedRequest::model,
                        Collectors.mapping(TracedRequest::seconds, Collectors.toList())));

    long timers =
        times.values().stream()
            .filter(own -> own.size() > 10)
            .filter(TraceGeneratorTest::isRegular)
            .count();
    assertTrue(timers >= 15 && timers <= 45, "seed 3 made " + timers);
  }

  @Test
  void generate_seed_decides() {
    List<TracedRequest> first = new TraceGenerator(1).generate(MODELS, 10, LENGTH);

    assertEquals(first, new TraceGenerator(1).generate(MODELS, 10, LENGTH));
    assertNotEquals(first, new TraceGenerator(2).generate(MODELS, 10, LENGTH));
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, -5, 1e-9, 1e9, Double.NaN, Double.POSITIVE_INFINITY})
  void generate_rateThatMakesNoTrace_refused(double rate) {
    TraceGenerator generator = new TraceGenerator(1);

    assertThrows(IllegalArgumentException.class, () -> generator.generate(MODELS, rate, LENGTH));
  }

  @Test
  void generate_longerThanAWeek_refused() {
    TraceGenerator generator = new TraceGenerator(1);

    assertThrows(
        IllegalArgumentException.class, () -> generator.generate(MODELS, 1, Duration.ofDays(8)));
  }

  private static boolean isRegular(List<Double> times) {
    double interval = times.get(1) - times.get(0);
    return IntStream.range(2, times.size())
        .allMatch(i -> Math.abs(times.get(i) - times.get(i - 1) - interval) < 1e-6);
  }
}
