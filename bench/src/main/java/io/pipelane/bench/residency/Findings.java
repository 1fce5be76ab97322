package io.pipelane.bench.residency;

import io.pipelane.config.section.ResidencyConfig;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The findings of a run of the benchmark. */
record Findings(
    List<Scene> scenes,
    List<SweepPoint> sweep,
    List<PageSize> pageSizes,
    List<PrefixRow> prefixes,
    List<DensityRow> densities) {

  /**
   * Policies on one trace.
   *
   * @param asMeasured whether transfers and remapping cost what was measured, beyond the pipeline
   * @param bestPossible the expected stall of prefixes planned with the true shares, in
   *     milliseconds; none where there are no true shares
   * @param rows ours as it is by default, then others
   */
  record Scene(
      String mix,
      Traffic traffic,
      boolean asMeasured,
      double memoryGigabytes,
      double bestPossible,
      List<PolicyRow> rows) {

    /** Our mean stall over that of the best policy that keeps models whole. */
    double ratio() {
      double best = Double.POSITIVE_INFINITY;
      for (PolicyRow row : rows) {
        if (row.keepsWhole()) {
          best = Math.min(best, row.outcome.meanStall());
        }
      }
      return rows.getFirst().outcome.meanStall() / best;
    }
  }

  /** A policy on a trace. */
  record PolicyRow(String label, ResidencyConfig.Policy policy, Outcome outcome) {
    boolean keepsWhole() {
      return switch (policy) {
        case LRU, LFU, GREEDY_DUAL_SIZE -> true;
        case EXPECTED_STALL, NOTHING_STAYS -> false;
      };
    }
  }

  /** A policy's mean stall with memory for a share of all bytes. */
  record SweepPoint(ResidencyConfig.Policy policy, double memoryShare, double meanStall) {}

  /** The ratio of a scene with pages of another size. */
  record PageSize(String mix, long pageBytes, double meanStall, double ratio) {}

  /**
   * Stalls of one structure by resident share.
   *
   * @param stalls predicted and measured, in milliseconds beyond a warm run
   * @param shareWithoutStall the least share with no stall to notice
   */
  record PrefixRow(String structure, List<PrefixStall> stalls, double shareWithoutStall) {}

  /**
   * A run with a share of the weights there.
   *
   * @param measured null where nobody has measured it
   */
  record PrefixStall(double percent, double predicted, @Nullable Double measured) {}

  /** A density, with or without what transfers and remapping cost beyond the pipeline. */
  record DensityRow(boolean asMeasured, int stallTargetMicros, Density density) {}
}
