package io.pipelane.bench.cluster;

import io.pipelane.bench.report.Results;
import io.pipelane.cluster.simulator.GpuType;
import io.pipelane.cluster.simulator.SampledPairs;
import io.pipelane.cluster.simulator.SharingWay;
import io.pipelane.cluster.speed.MeasuredPair;
import io.pipelane.cluster.speed.PerceptronPredictor;
import java.util.List;

/** The errors of predicted speeds for pairs that the predictor has not learned from. */
final class PredictionErrors {
  /** As many as MuxFlow collects for each type (§6), and a fifth of them more to be held out. */
  private static final int LEARNED = 2_000;

  private static final int HELD_OUT = 500;
  private static final double PERCENT = 100;

  private PredictionErrors() {}

  static Results measure(int rounds, int epochs, long seed) {
    Results results =
        new Results(
            ClusterColumns.ERRORS_TITLE, ClusterColumns.ERRORS, ClusterColumns.ERRORS_NOTES);
    for (GpuType gpu : List.of(GpuType.T4_LIKE, GpuType.H200_LIKE)) {
      for (SharingWay way : List.of(SharingWay.SPACE, SharingWay.GATES)) {
        String row = "%s, %s".formatted(gpu.name(), way == SharingWay.SPACE ? "space" : "gates");
        for (int round = 0; round < rounds; round++) {
          List<MeasuredPair> pairs = SampledPairs.draw(gpu, way, LEARNED + HELD_OUT, seed + round);
          List<MeasuredPair> learned = pairs.subList(0, LEARNED);
          PerceptronPredictor predictor = PerceptronPredictor.train(learned, epochs, seed + round);
          results.add(row, ClusterColumns.LEARNED, LEARNED);
          results.add(row, ClusterColumns.LEARNED_ERROR, PERCENT * predictor.error(learned));
          results.add(
              row,
              ClusterColumns.HELD_OUT_ERROR,
              PERCENT * predictor.error(pairs.subList(LEARNED, pairs.size())));
        }
        results.aim(row, ClusterColumns.HELD_OUT_ERROR, "< 10");
      }
    }
    return results;
  }
}
