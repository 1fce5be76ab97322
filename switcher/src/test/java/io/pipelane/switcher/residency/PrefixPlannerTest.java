package io.pipelane.switcher.residency;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.switcher.residency.PrefixPlanner.Demand;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

/** Against every allocation there is, on small cases. */
class PrefixPlannerTest {
  private static StallCurve curve(double... stalls) {
    return StallCurve.of(stalls.length - 1, pages -> stalls[pages]);
  }

  @Test
  void prefixes_aPrefixHidesTheRest_everyModelKeepsOne() {
    StallCurve hidden = curve(4, 1, 0, 0, 0, 0);
    List<Demand> demands = List.of(new Demand(3, hidden), new Demand(2, hidden));
    assertArrayEquals(new int[] {2, 2}, PrefixPlanner.prefixes(demands, 4));
    assertArrayEquals(new int[] {2, 1}, PrefixPlanner.prefixes(demands, 3));
  }

  @Test
  void prefixes_noRequests_getNothing() {
    List<Demand> demands = List.of(new Demand(0, curve(9, 0)), new Demand(1, curve(1, 0)));
    assertArrayEquals(new int[] {0, 1}, PrefixPlanner.prefixes(demands, 5));
    assertEquals(0, PrefixPlanner.prefixes(List.of(), 5).length);
  }

  @RepeatedTest(200)
  void prefixes_convexStalls_areTheBest() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    List<Demand> demands = demands(random, true);
    int pages = random.nextInt(16);
    double chosen = expectedStall(demands, PrefixPlanner.prefixes(demands, pages));
    assertEquals(best(demands, 0, pages), chosen, 1e-9, "seed " + seed);
  }

  @RepeatedTest(200)
  void prefixes_anyStalls_missTheBestByNoMoreThanOneModelsDistanceFromItsEnvelope() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    List<Demand> demands = demands(random, false);
    int pages = random.nextInt(16);
    int[] prefixes = PrefixPlanner.prefixes(demands, pages);
    assertTrue(Arrays.stream(prefixes).sum() <= pages, "seed " + seed);
    double bound = demands.stream().mapToDouble(PrefixPlannerTest::distance).max().orElseThrow();
    double excess = expectedStall(demands, prefixes) - best(demands, 0, pages);
    assertTrue(excess >= -1e-9 && excess <= bound + 1e-9, "seed " + seed + ": " + excess);
  }

  private static List<Demand> demands(Random random, boolean convex) {
    List<Demand> demands = new ArrayList<>();
    for (int model = 0; model < 4; model++) {
      int pages = 1 + random.nextInt(5);
      double[] falls = random.doubles(pages).toArray();
      if (convex) {
        Arrays.sort(falls);
      }
      double[] stalls = new double[pages + 1];
      for (int there = pages - 1; there >= 0; there--) {
        stalls[there] = stalls[there + 1] + falls[pages - 1 - there];
      }
      demands.add(new Demand(random.nextDouble() * 10, curve(stalls)));
    }
    return demands;
  }

  private static double distance(Demand demand) {
    double envelope = demand.curve().nanos(0);
    double most = 0;
    for (int page = 0; page < demand.curve().pages(); page++) {
      envelope -= demand.curve().gainNanos(page);
      most = Math.max(most, demand.perSecond() * (demand.curve().nanos(page + 1) - envelope));
    }
    return most;
  }

  private static double expectedStall(List<Demand> demands, int[] prefixes) {
    double sum = 0;
    for (int model = 0; model < prefixes.length; model++) {
      Demand demand = demands.get(model);
      sum += demand.perSecond() * demand.curve().nanos(prefixes[model]);
    }
    return sum;
  }

  private static double best(List<Demand> demands, int model, int pages) {
    if (model == demands.size()) {
      return 0;
    }
    Demand demand = demands.get(model);
    double least = Double.POSITIVE_INFINITY;
    for (int there = 0; there <= Math.min(pages, demand.curve().pages()); there++) {
      double own = demand.perSecond() * demand.curve().nanos(there);
      least = Math.min(least, own + best(demands, model + 1, pages - there));
    }
    return least;
  }
}
