package io.pipelane.loadgen.drive;

import io.pipelane.loadgen.settings.ModelChoice;
import io.pipelane.loadgen.settings.ModelRequests;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;

/** The choice of each request's model, and of the next of that model's variants in turn. */
final class RequestPicker {
  private final double[] cumulativeShares;
  private final int[] variants;
  private final int[] nextVariant;
  private final boolean inTurn;
  private final RandomGenerator random;
  private int lastModel = -1;

  RequestPicker(ModelChoice choice, List<ModelRequests> models, RandomGenerator random) {
    this.cumulativeShares = choice.shares(models.size());
    Arrays.parallelPrefix(cumulativeShares, Double::sum);
    this.variants = models.stream().mapToInt(model -> model.variants().size()).toArray();
    this.nextVariant = new int[variants.length];
    this.inTurn = choice instanceof ModelChoice.SwitchStorm;
    this.random = random;
  }

  int nextModel() {
    if (cumulativeShares.length == 1) {
      return 0;
    }
    if (inTurn) {
      lastModel = (lastModel + 1) % cumulativeShares.length;
      return lastModel;
    }
    int found = Arrays.binarySearch(cumulativeShares, random.nextDouble());
    int model = found >= 0 ? found + 1 : -found - 1;
    return Math.min(model, cumulativeShares.length - 1);
  }

  int nextVariant(int model) {
    int variant = nextVariant[model];
    nextVariant[model] = variant + 1 == variants[model] ? 0 : variant + 1;
    return variant;
  }
}
