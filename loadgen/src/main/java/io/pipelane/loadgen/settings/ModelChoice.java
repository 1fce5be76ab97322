package io.pipelane.loadgen.settings;

import java.util.Arrays;
import java.util.Locale;

/** The choice of which of several models a request asks, where no trace says it. */
public sealed interface ModelChoice {
  /** The probability of each of {@code models} models, in their order; they add up to 1. */
  double[] shares(int models);

  /** An even choice: every model alike, each request drawn by itself. */
  record Uniform() implements ModelChoice {
    @Override
    public double[] shares(int models) {
      double[] shares = new double[models];
      Arrays.fill(shares, 1.0 / models);
      return shares;
    }

    @Override
    public String toString() {
      return "uniform";
    }
  }

  /**
   * A choice by Zipf's law: the k-th model has a share in proportion to {@code 1 / k^exponent},
   * each request drawn by itself.
   */
  record Zipf(double exponent) implements ModelChoice {
    public Zipf {
      if (!(exponent >= 0 && exponent <= 10)) {
        throw new IllegalArgumentException("zipf must be between 0 and 10: " + exponent);
      }
    }

    @Override
    public double[] shares(int models) {
      double[] shares = new double[models];
      double sum = 0;
      for (int k = 0; k < models; k++) {
        shares[k] = Math.pow(k + 1, -exponent);
        sum += shares[k];
      }
      for (int k = 0; k < models; k++) {
        shares[k] /= sum;
      }
      return shares;
    }

    @Override
    public String toString() {
      return String.format(Locale.ROOT, "zipf(%s)", exponent);
    }
  }

  /**
   * The model that was asked longest ago, always: never the same twice, and the worst order for
   * whoever keeps the models used last.
   */
  record SwitchStorm() implements ModelChoice {
    @Override
    public double[] shares(int models) {
      return new Uniform().shares(models);
    }

    @Override
    public String toString() {
      return "switch storm";
    }
  }
}
