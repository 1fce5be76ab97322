package io.pipelane.bench.density;

import io.pipelane.bench.accelerator.Accelerator;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.config.section.ResidencyConfig.Policy;
import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.OptimalGrouping;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.PipelineModel;
import io.pipelane.switcher.grouping.SegmentProfile;
import io.pipelane.switcher.grouping.SegmentProfile.ShapeTimes;
import io.pipelane.switcher.grouping.SegmentProfiles;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A device, and the model that is measured on it in variants.
 *
 * @param costs of transfers, over all links that carry them
 */
record Scene(Accelerator accelerator, Subject subject, PipelineCosts costs) {
  /** As a server cuts transfers while it has no profile. */
  private static final Grouping BY_BYTES = new EqualBytesGrouping(32, 1 << 20);

  /** So many variants on the device, which is empty. */
  LiveDevice device(int variants, ResidencyConfig residency, SegmentProfiles profiles) {
    return new LiveDevice(
        accelerator, subject, variants, grouping(profiles), profiles, costs, residency);
  }

  Grouping grouping(SegmentProfiles profiles) {
    return new OptimalGrouping(profiles, costs, BY_BYTES);
  }

  static ResidencyConfig residency(Policy policy, int stallTargetMicros, boolean prefetch) {
    return new ResidencyConfig(
        policy,
        PipelaneConfig.defaults().residency().halfLife(),
        stallTargetMicros,
        prefetch,
        true);
  }

  static Duration interval(double perSecond) {
    return Duration.ofNanos(Math.round(1e9 / perSecond));
  }

  Plan plan() {
    return subject.model().plan();
  }

  long pageBytes() {
    return accelerator.device().pages().pageBytes();
  }

  long capacityBytes() {
    return accelerator.device().pages().total() * pageBytes();
  }

  /** Pages of a whole variant. */
  int wholePages() {
    return Math.toIntExact(Math.ceilDiv(plan().weightBytes(), pageBytes()));
  }

  /**
   * The pipeline as warm runs were. What a request takes beside its run's segments comes with the
   * last of them, as no weight waits for it.
   */
  PipelineModel measured(WarmRuns warm, SegmentProfiles profiles) {
    List<Long> told = warm.segmentNanos();
    List<Long> nanos = new ArrayList<>(told.isEmpty() ? usual(profiles).segmentNanos() : told);
    long segments = nanos.stream().mapToLong(Long::longValue).sum();
    nanos.addLast(nanos.removeLast() + Math.max(0, warm.latencyNanos() - segments));
    return costs.model(plan(), nanos);
  }

  ShapeTimes usual(SegmentProfiles profiles) {
    return profiles
        .of(plan().structureHash())
        .flatMap(SegmentProfile::usual)
        .orElseThrow(() -> new IllegalStateException("no run has told of its segments"));
  }
}
