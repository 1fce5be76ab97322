package io.pipelane.switcher.memory;

import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.SegmentProfile;
import io.pipelane.switcher.grouping.SegmentProfile.ShapeTimes;
import io.pipelane.switcher.residency.Holdings;
import io.pipelane.switcher.residency.ResidencySettings;
import io.pipelane.switcher.residency.StallCurve;
import io.pipelane.switcher.residency.StallCurves;
import java.util.List;
import java.util.Optional;

/** The costs of models' missing pages, as far as they are known. Guarded by the daemon's lock. */
final class Stalls {
  private static final long PAGE_NANOS = 1_000_000;

  private final StallCurves curves;
  private final ResidencySettings settings;
  private final long pageBytes;

  Stalls(Grouping grouping, long pageBytes, ResidencySettings settings) {
    this.curves = new StallCurves(grouping, pageBytes, settings.config().stallTargetMicros());
    this.settings = settings;
    this.pageBytes = pageBytes;
  }

  /** A model's curve by its size. */
  StallCurve bySize(Plan plan) {
    return curves.of(plan);
  }

  /** Has a model's curve follow its profile, where there is another one than the curve is of. */
  void refresh(Residency residency, Holdings holdings) {
    Optional<PipelineCosts> costs = settings.costs().known();
    long changes = settings.profiles().changes();
    if (costs.isEmpty() || residency.curveAsOf == changes) {
      return;
    }
    residency.curveAsOf = changes;
    Plan plan = residency.model.plan();
    if (plan.weightBytes() == 0) {
      return; // Nothing to wait for.
    }
    SegmentProfile profile = settings.profiles().of(plan.structureHash()).orElse(null);
    if (profile == null || profile.equals(residency.curveOf)) {
      return;
    }
    Optional<List<Long>> segmentNanos = profile.usual().map(ShapeTimes::segmentNanos);
    if (segmentNanos.isEmpty()) {
      return;
    }
    residency.curveOf = profile;
    if (segmentNanos.get().size() == plan.segments().size()) {
      holdings.setCurve(
          residency.holding, curves.of(plan, costs.get().model(plan, segmentNanos.get()), 0));
    }
  }

  /** What copying a page takes; a guess on the slow side where that is not known. */
  long pageNanos() {
    return settings
        .costs()
        .known()
        .map(known -> known.link().copyNanos(pageBytes))
        .orElse(PAGE_NANOS);
  }
}
