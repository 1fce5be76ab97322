package io.pipelane.cluster.matching;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.jgrapht.Graph;
import org.jgrapht.alg.matching.MaximumWeightBipartiteMatching;
import org.jgrapht.graph.DefaultWeightedEdge;
import org.jgrapht.graph.SimpleWeightedGraph;
import org.junit.jupiter.api.Test;

class MaximumWeightMatchingTest {
  private static final double NEAR = 1e-9;

  /** MuxFlow's figure 9: online A and B, offline C, D and E. */
  @Test
  void of_muxFlowsFigure9_is1Point6() {
    double[][] weights = {{0.3, 0.8, 0.4}, {0.8, 0.4, 0.3}};

    int[] matched = MaximumWeightMatching.of(weights);

    assertArrayEquals(new int[] {1, 0}, matched);
    assertEquals(1.6, sum(weights, matched), NEAR);
  }

  @Test
  void of_smallRandomSides_isWhatBruteForceFinds() {
    for (long seed = 1; seed <= 2_000; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      double[][] weights = random(random, 1 + random.nextInt(6), 1 + random.nextInt(6));

      double found = sum(weights, MaximumWeightMatching.of(weights));

      assertEquals(best(weights, 0, 0), found, NEAR, "seed " + seed);
    }
  }

  @Test
  void of_largerSides_isWhatJGraphTFinds() {
    for (long seed = 1; seed <= 10; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      double[][] weights = random(random, 20 + random.nextInt(40), 20 + random.nextInt(40));

      double found = sum(weights, MaximumWeightMatching.of(weights));

      assertEquals(byJGraphT(weights), found, 1e-6, "seed " + seed);
    }
  }

  @Test
  void of_manyEqualWeights_isWhatJGraphTFinds() {
    SplittableRandom random = new SplittableRandom(7);
    double[][] weights = new double[50][];
    for (int row = 0; row < weights.length; row++) {
      int kind = row % 4;
      weights[row] =
          IntStream.range(0, 40).mapToDouble(column -> (column % 3 + kind) / 8.0).toArray();
    }
    weights[random.nextInt(50)][3] = 1;

    assertEquals(byJGraphT(weights), sum(weights, MaximumWeightMatching.of(weights)), 1e-6);
  }

  @Test
  void of_pairsWithoutWeight_areNotMatched() {
    assertArrayEquals(
        new int[] {-1, 1}, MaximumWeightMatching.of(new double[][] {{0, -1}, {-2, 0.5}}));
  }

  @Test
  void of_anEmptySide_matchesNobody() {
    assertArrayEquals(new int[] {}, MaximumWeightMatching.of(new double[][] {}));
    assertArrayEquals(new int[] {-1, -1}, MaximumWeightMatching.of(new double[][] {{}, {}}));
  }

  @Test
  void of_whatIsNoMatrixOfNumbers_isRefused() {
    assertThrows(
        IllegalArgumentException.class,
        () -> MaximumWeightMatching.of(new double[][] {{1, 2}, {1}}));
    assertThrows(
        IllegalArgumentException.class,
        () -> MaximumWeightMatching.of(new double[][] {{1, Double.NaN}}));
  }

  /** Weights between -0.2 and 1, every other case in tenths so that many are equal. */
  private static double[][] random(SplittableRandom random, int rows, int columns) {
    boolean coarse = random.nextBoolean();
    double[][] weights = new double[rows][columns];
    for (double[] row : weights) {
      Arrays.setAll(row, _ -> coarse ? random.nextInt(-2, 11) / 10.0 : random.nextDouble(-0.2, 1));
    }
    return weights;
  }

  /** The best of the rows from one on, with some columns taken (bits). */
  private static double best(double[][] weights, int row, int taken) {
    if (row == weights.length) {
      return 0;
    }
    double best = best(weights, row + 1, taken);
    for (int column = 0; column < weights[row].length; column++) {
      if ((taken & 1 << column) == 0) {
        best = Math.max(best, weights[row][column] + best(weights, row + 1, taken | 1 << column));
      }
    }
    return best;
  }

  private static double byJGraphT(double[][] weights) {
    Graph<Integer, DefaultWeightedEdge> graph =
        new SimpleWeightedGraph<>(DefaultWeightedEdge.class);
    int rows = weights.length;
    int columns = weights[0].length;
    Set<Integer> left = new HashSet<>(IntStream.range(0, rows).boxed().toList());
    Set<Integer> right = new HashSet<>(IntStream.range(rows, rows + columns).boxed().toList());
    left.forEach(graph::addVertex);
    right.forEach(graph::addVertex);
    for (int row = 0; row < rows; row++) {
      for (int column = 0; column < columns; column++) {
        if (weights[row][column] > 0) {
          graph.setEdgeWeight(graph.addEdge(row, rows + column), weights[row][column]);
        }
      }
    }
    return new MaximumWeightBipartiteMatching<>(graph, left, right).getMatching().getWeight();
  }

  private static double sum(double[][] weights, int[] matched) {
    Set<Integer> taken = new HashSet<>();
    double sum = 0;
    for (int row = 0; row < matched.length; row++) {
      if (matched[row] >= 0) {
        assertTrue(taken.add(matched[row]), "a column is matched twice");
        sum += weights[row][matched[row]];
      }
    }
    return sum;
  }
}
