package io.pipelane.bench.switching;

import java.util.Map;
import java.util.Optional;

/**
 * The times that an H200 is to reach with a batch of 8 in FP32 with TF32, in milliseconds.
 *
 * @param warm captured, warm, at most
 * @param coldOverWarm cold with nothing resident, beyond warm, at most
 * @param coldOverCopy cold beyond the copy alone, at most, where the copy takes longer than the run
 * @param coldToBound cold divided by the lower bound, at most
 */
record Aim(
    double warm, Optional<Double> coldOverWarm, Optional<Double> coldOverCopy, double coldToBound) {
  private static final Map<String, Aim> AIMS =
      Map.of(
          "resnet152", overWarm(4.2, 0.35, 1.06),
          "inception_v3", overWarm(3.3, 0.25, 1.06),
          "densenet201", overWarm(5.8, 0.2, 1.06),
          "bert_base", new Aim(2.2, Optional.empty(), Optional.of(0.3), 1.04));

  private static Aim overWarm(double warm, double beyond, double toBound) {
    return new Aim(warm, Optional.of(beyond), Optional.empty(), toBound);
  }

  static Optional<Aim> of(String model) {
    return Optional.ofNullable(AIMS.get(model));
  }
}
