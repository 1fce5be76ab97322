package io.pipelane.bench.cluster;

import io.pipelane.bench.report.Column;
import io.pipelane.bench.report.Results;
import io.pipelane.cluster.matching.MaximumWeightMatching;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.DoubleSupplier;
import java.util.stream.IntStream;
import org.jgrapht.Graph;
import org.jgrapht.alg.interfaces.MatchingAlgorithm.Matching;
import org.jgrapht.alg.matching.KuhnMunkresMinimalWeightBipartitePerfectMatching;
import org.jgrapht.alg.matching.MaximumWeightBipartiteMatching;
import org.jgrapht.graph.DefaultWeightedEdge;
import org.jgrapht.graph.SimpleWeightedGraph;

/** The times that matching takes, beside JGraphT's two algorithms for it. */
final class MatchingTimes {
  private static final int ROUNDS = 3;
  private static final double NANOS_PER_SECOND = 1e9;
  private static final double TOLERANCE = 1e-6;

  /** As many as there are offline models in the simulator: jobs of one model are alike. */
  private static final int KINDS = 4;

  private final double[][] weights;
  private final Set<Integer> rows = new LinkedHashSet<>();
  private final Set<Integer> columns = new LinkedHashSet<>();

  private MatchingTimes(double[][] weights) {
    this.weights = weights;
    IntStream.range(0, weights.length).forEach(rows::add);
    IntStream.range(weights.length, 2 * weights.length).forEach(columns::add);
  }

  static Results measure(List<Integer> sizes, long seed) {
    Results results =
        new Results(
            ClusterColumns.MATCHING_TITLE, ClusterColumns.MATCHING, ClusterColumns.MATCHING_NOTES);
    for (int size : sizes) {
      for (boolean alike : List.of(false, true)) {
        String row = "%d x %d, %s".formatted(size, size, alike ? "four kinds of jobs" : "random");
        new MatchingTimes(weights(size, alike, seed)).tell(row, results);
      }
    }
    return results;
  }

  private void tell(String row, Results results) {
    double weight = 0;
    for (int round = 0; round < ROUNDS; round++) {
      weight = time(row, ClusterColumns.OWN, this::own, results);
    }
    results.add(row, ClusterColumns.WEIGHT, weight);
    results.aim(row, ClusterColumns.OWN, "< 10");
    checkSame(weight, time(row, ClusterColumns.KUHN_MUNKRES, this::kuhnMunkres, results), row);
    checkSame(weight, time(row, ClusterColumns.MAXIMUM_WEIGHT, this::maximumWeight, results), row);
  }

  /** Times a matching; its weight comes back. */
  private static double time(String row, Column column, DoubleSupplier matching, Results results) {
    long begin = System.nanoTime();
    double weight = matching.getAsDouble();
    results.add(row, column, (System.nanoTime() - begin) / NANOS_PER_SECOND);
    return weight;
  }

  private static void checkSame(double ours, double other, String row) {
    if (Math.abs(other - ours) > TOLERANCE * ours) {
      throw new IllegalStateException(
          "%s: JGraphT finds a weight of %s, we find %s".formatted(row, other, ours));
    }
  }

  private static double[][] weights(int size, boolean alike, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    double[][] weights = new double[size][size];
    double[][] byKind = new double[KINDS][size];
    for (double[] kind : byKind) {
      for (int column = 0; column < size; column++) {
        kind[column] = random.nextDouble();
      }
    }
    for (int row = 0; row < size; row++) {
      for (int column = 0; column < size; column++) {
        weights[row][column] = alike ? byKind[row % KINDS][column] : random.nextDouble();
      }
    }
    return weights;
  }

  private double own() {
    int[] matched = MaximumWeightMatching.of(weights);
    double sum = 0;
    for (int row = 0; row < matched.length; row++) {
      sum += matched[row] < 0 ? 0 : weights[row][matched[row]];
    }
    return sum;
  }

  private double kuhnMunkres() {
    Graph<Integer, DefaultWeightedEdge> graph = graph(true);
    return sum(
        graph,
        new KuhnMunkresMinimalWeightBipartitePerfectMatching<>(graph, rows, columns).getMatching());
  }

  private double maximumWeight() {
    Graph<Integer, DefaultWeightedEdge> graph = graph(false);
    return sum(graph, new MaximumWeightBipartiteMatching<>(graph, rows, columns).getMatching());
  }

  private Graph<Integer, DefaultWeightedEdge> graph(boolean asCosts) {
    Graph<Integer, DefaultWeightedEdge> graph =
        new SimpleWeightedGraph<>(DefaultWeightedEdge.class);
    rows.forEach(graph::addVertex);
    columns.forEach(graph::addVertex);
    for (int row = 0; row < weights.length; row++) {
      for (int column = 0; column < weights.length; column++) {
        double weight = weights[row][column];
        graph.setEdgeWeight(
            graph.addEdge(row, weights.length + column), asCosts ? 1 - weight : weight);
      }
    }
    return graph;
  }

  private double sum(
      Graph<Integer, DefaultWeightedEdge> graph, Matching<Integer, DefaultWeightedEdge> matching) {
    double sum = 0;
    for (DefaultWeightedEdge edge : matching.getEdges()) {
      sum += weights[graph.getEdgeSource(edge)][graph.getEdgeTarget(edge) - weights.length];
    }
    return sum;
  }
}
