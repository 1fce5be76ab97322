package io.pipelane.cluster.matching;

import java.util.Arrays;

/**
 * A matching of greatest total weight between two sides of any sizes: the algorithm of Kuhn and
 * Munkres (MuxFlow §5, algorithm 1, line 10), in time O(rows² × columns) for the smaller side as
 * rows.
 */
public final class MaximumWeightMatching {
  /*
   * The Hungarian method by shortest augmenting paths (Jonker and Volgenant, Computing 38, 1987).
   * Costs are negated weights. Every row and column has a price such that no cost is below the sum
   * of its two prices, and matched pairs cost exactly that sum, so the matching is the cheapest of
   * its rows. Columns that nobody has keep price 0: that is what makes sides of unequal size right
   * without padding. A row is added by the cheapest path, in costs less prices, from it over
   * matched pairs to a free column (Dijkstra's algorithm over a dense matrix); then the pairs on
   * that path change places.
   *
   * Beginning: a row's price is its cheapest cost, and it takes that column if it is free.
   */
  private static final int NOBODY = -1;

  private final double[][] weights;
  private final int columns;
  private final double[] rowPrice;
  private final double[] columnPrice;
  private final int[] columnOf;
  private final int[] rowOf;
  private final double[] distance;
  private final int[] reachedFrom;
  private final boolean[] settled;

  private MaximumWeightMatching(double[][] weights) {
    this.weights = weights;
    this.columns = weights[0].length;
    this.rowPrice = new double[weights.length];
    this.columnPrice = new double[columns];
    this.columnOf = filled(weights.length);
    this.rowOf = filled(columns);
    this.distance = new double[columns];
    this.reachedFrom = new int[columns];
    this.settled = new boolean[columns];
  }

  /**
   * Matches rows with columns, each at most once.
   *
   * @param weights by row and column, finite; a pair of weight 0 or less is not matched
   * @return for each row its column, or -1
   * @throws IllegalArgumentException when rows differ in length or a weight is not finite
   */
  public static int[] of(double[][] weights) {
    int rows = weights.length;
    int columns = rows == 0 ? 0 : weights[0].length;
    if (columns == 0) {
      return filled(rows);
    }
    int[] matched =
        rows <= columns
            ? new MaximumWeightMatching(copy(weights, rows, columns)).solve()
            : inverse(new MaximumWeightMatching(transposed(weights, rows, columns)).solve(), rows);
    for (int row = 0; row < rows; row++) {
      if (matched[row] != NOBODY && weights[row][matched[row]] <= 0) {
        matched[row] = NOBODY;
      }
    }
    return matched;
  }

  private int[] solve() {
    for (int row = 0; row < weights.length; row++) {
      int cheapest = 0;
      for (int column = 1; column < columns; column++) {
        if (weights[row][column] > weights[row][cheapest]) {
          cheapest = column;
        }
      }
      rowPrice[row] = -weights[row][cheapest];
      if (rowOf[cheapest] == NOBODY) {
        match(row, cheapest);
      }
    }
    for (int row = 0; row < weights.length; row++) {
      if (columnOf[row] == NOBODY) {
        add(row);
      }
    }
    return columnOf;
  }

  /** Matches one row more; those that are matched stay so. */
  private void add(int free) {
    Arrays.fill(distance, Double.POSITIVE_INFINITY);
    Arrays.fill(settled, false);
    int row = free;
    double length = 0;
    int column;
    do {
      column = NOBODY;
      for (int next = 0; next < columns; next++) {
        if (settled[next]) {
          continue;
        }
        double path = length - weights[row][next] - rowPrice[row] - columnPrice[next];
        if (path < distance[next]) {
          distance[next] = path;
          reachedFrom[next] = row;
        }
        if (column == NOBODY || distance[next] < distance[column]) {
          column = next;
        }
      }
      settled[column] = true;
      length = distance[column];
      row = rowOf[column];
    } while (row != NOBODY);
    changePrices(free, length);
    changePlaces(free, column);
  }

  private void changePrices(int free, double length) {
    rowPrice[free] += length;
    for (int column = 0; column < columns; column++) {
      if (settled[column]) {
        double cheaper = length - distance[column];
        columnPrice[column] -= cheaper;
        if (rowOf[column] != NOBODY) {
          rowPrice[rowOf[column]] += cheaper;
        }
      }
    }
  }

  private void changePlaces(int free, int last) {
    int column = last;
    int row;
    do {
      row = reachedFrom[column];
      int left = columnOf[row];
      match(row, column);
      column = left;
    } while (row != free);
  }

  private void match(int row, int column) {
    columnOf[row] = column;
    rowOf[column] = row;
  }

  private static double[][] copy(double[][] weights, int rows, int columns) {
    double[][] copy = new double[rows][columns];
    for (int row = 0; row < rows; row++) {
      checkLength(weights[row], columns);
      for (int column = 0; column < columns; column++) {
        copy[row][column] = gain(weights, row, column);
      }
    }
    return copy;
  }

  private static double[][] transposed(double[][] weights, int rows, int columns) {
    double[][] transposed = new double[columns][rows];
    for (int row = 0; row < rows; row++) {
      checkLength(weights[row], columns);
      for (int column = 0; column < columns; column++) {
        transposed[column][row] = gain(weights, row, column);
      }
    }
    return transposed;
  }

  private static void checkLength(double[] row, int columns) {
    if (row.length != columns) {
      throw new IllegalArgumentException(
          "a row has %d weights, the first one %d; all rows need as many"
              .formatted(row.length, columns));
    }
  }

  /** What a pair adds: nothing where it would be left out. */
  private static double gain(double[][] weights, int row, int column) {
    double weight = weights[row][column];
    if (!Double.isFinite(weight)) {
      throw new IllegalArgumentException(
          "the weight of row %d and column %d is %s, not a finite number"
              .formatted(row, column, weight));
    }
    return Math.max(0, weight);
  }

  private static int[] inverse(int[] matched, int size) {
    int[] inverse = filled(size);
    for (int row = 0; row < matched.length; row++) {
      if (matched[row] != NOBODY) {
        inverse[matched[row]] = row;
      }
    }
    return inverse;
  }

  private static int[] filled(int size) {
    int[] filled = new int[size];
    Arrays.fill(filled, NOBODY);
    return filled;
  }
}
