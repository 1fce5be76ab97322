package io.pipelane.switcher.residency;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.switcher.residency.PrefixPlanner.Demand;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.IntToDoubleFunction;
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
    List<Case> cases = cases(random, true, false);
    int pages = random.nextInt(16);
    double chosen = expectedCost(cases, PrefixPlanner.prefixes(demands(cases), pages));
    assertEquals(best(cases, 0, pages), chosen, 1e-9, "seed " + seed);
  }

  @RepeatedTest(200)
  void prefixes_anyStalls_missTheBestByNoMoreThanOneModelsDistanceFromItsEnvelope() {
    assertCloseToTheBest(false);
  }

  /** What is to be least then is the wait and a step at the target, of each request. */
  @RepeatedTest(200)
  void prefixes_withATarget_missTheBestByNoMoreThanOneModelsDistanceFromItsEnvelope() {
    assertCloseToTheBest(true);
  }

  private static void assertCloseToTheBest(boolean withTarget) {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    List<Case> cases = cases(random, false, withTarget);
    int pages = random.nextInt(16);
    int[] prefixes = PrefixPlanner.prefixes(demands(cases), pages);
    assertTrue(Arrays.stream(prefixes).sum() <= pages, "seed " + seed);
    double bound = cases.stream().mapToDouble(Case::distance).max().orElseThrow();
    double excess = expectedCost(cases, prefixes) - best(cases, 0, pages);
    assertTrue(excess >= -1e-9 && excess <= bound + 1e-9, "seed " + seed + ": " + excess);
  }

  /** With pages for three of four alike below the target, the one asked least goes without. */
  @Test
  void prefixes_withATarget_asFewRequestsAsPossibleWaitLonger() {
    StallCurve alike = curve(9, 6, 3, 2, 1, 0).withPenalty(pages -> pages < 2 ? 40 : 0);
    List<Demand> demands = new ArrayList<>();
    for (double perSecond : new double[] {8, 1, 3, 2}) {
      demands.add(new Demand(perSecond, alike));
    }
    assertArrayEquals(new int[] {2, 0, 2, 2}, PrefixPlanner.prefixes(demands, 6));
    assertArrayEquals(new int[] {3, 2, 2, 2}, PrefixPlanner.prefixes(demands, 9));
    assertArrayEquals(new int[] {4, 0, 2, 0}, withoutTarget(demands, 6));
  }

  private static int[] withoutTarget(List<Demand> demands, int pages) {
    StallCurve plain = curve(9, 6, 3, 2, 1, 0);
    return PrefixPlanner.prefixes(
        demands.stream().map(d -> new Demand(d.perSecond(), plain)).toList(), pages);
  }

  /**
   * A model.
   *
   * @param cost of a request, by pages: what it waits, and the step where there is a target
   */
  private record Case(Demand demand, List<Double> cost) {
    double expected(int pages) {
      return demand.perSecond() * cost.get(pages);
    }

    double distance() {
      double envelope = cost.getFirst();
      double most = 0;
      for (int page = 0; page < demand.curve().pages(); page++) {
        envelope -= demand.curve().gainNanos(page);
        most = Math.max(most, demand.perSecond() * (cost.get(page + 1) - envelope));
      }
      return most;
    }
  }

  private static List<Demand> demands(List<Case> cases) {
    return cases.stream().map(Case::demand).toList();
  }

  private static List<Case> cases(Random random, boolean convex, boolean withTarget) {
    List<Case> cases = new ArrayList<>();
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
      double target = withTarget ? random.nextDouble() * 2 : Double.POSITIVE_INFINITY;
      IntToDoubleFunction step = there -> stalls[there] > target ? 10 : 0;
      StallCurve curve = withTarget ? curve(stalls).withPenalty(step) : curve(stalls);
      List<Double> cost = new ArrayList<>();
      for (int there = 0; there <= pages; there++) {
        cost.add(stalls[there] + step.applyAsDouble(there));
      }
      cases.add(new Case(new Demand(random.nextDouble() * 10, curve), cost));
    }
    return cases;
  }

  private static double expectedCost(List<Case> cases, int[] prefixes) {
    double sum = 0;
    for (int model = 0; model < prefixes.length; model++) {
      sum += cases.get(model).expected(prefixes[model]);
    }
    return sum;
  }

  private static double best(List<Case> cases, int model, int pages) {
    if (model == cases.size()) {
      return 0;
    }
    Case one = cases.get(model);
    double least = Double.POSITIVE_INFINITY;
    for (int there = 0; there <= Math.min(pages, one.demand.curve().pages()); there++) {
      least = Math.min(least, one.expected(there) + best(cases, model + 1, pages - there));
    }
    return least;
  }
}
