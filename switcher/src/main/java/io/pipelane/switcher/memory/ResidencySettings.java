package io.pipelane.switcher.memory;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.ResidencyConfig;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.SegmentProfiles;
import java.util.Optional;

/**
 * How it is decided which weights stay on a device.
 *
 * @param profiles how long segments compute
 * @param costs of transfers, if the link was measured; without them, and for models without a
 *     profile, a missing byte costs the same whatever the model
 * @param offlineShare of the memory for weights, what offline runs may hold together; above 0, at
 *     most 1
 */
public record ResidencySettings(
    ResidencyConfig config,
    SegmentProfiles profiles,
    Optional<PipelineCosts> costs,
    double offlineShare) {

  /** Settings that let offline work hold everything. */
  public ResidencySettings(
      ResidencyConfig config, SegmentProfiles profiles, Optional<PipelineCosts> costs) {
    this(config, profiles, costs, 1);
  }

  /**
   * A policy that knows sizes alone, and nothing brought in ahead: what is on the device depends on
   * requests alone.
   */
  public static ResidencySettings onDemand(ResidencyConfig.Policy policy) {
    ResidencyConfig standard = PipelaneConfig.defaults().residency();
    return new ResidencySettings(
        new ResidencyConfig(policy, standard.halfLife(), false, standard.idlePrefetch()),
        SegmentProfiles.inMemory(),
        Optional.empty());
  }
}
