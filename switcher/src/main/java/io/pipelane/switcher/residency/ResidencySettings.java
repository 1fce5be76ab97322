package io.pipelane.switcher.residency;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.switcher.grouping.LinkCosts;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.SegmentProfiles;
import java.util.Optional;

/**
 * The settings that say how it is decided which weights stay on a device, and what becomes of the
 * pages of others.
 *
 * @param profiles how long segments compute
 * @param costs of transfers, once the link was measured; without them, and for models without a
 *     profile, a missing byte costs the same whatever the model
 * @param offlineShare of the memory for weights, what offline runs may hold together; above 0, at
 *     most 1
 * @param zeroPages whether a page that had one tenant's weights is zeroed before another's model
 *     has it
 * @param hotRuns of a model lately, after which the table that it reads in place is copied to the
 *     device, where a device has a use for that
 */
public record ResidencySettings(
    ResidencyConfig config,
    SegmentProfiles profiles,
    LinkCosts costs,
    double offlineShare,
    boolean zeroPages,
    int hotRuns) {
  /** Runs of a model lately for which a copy of its table is sure to pay. */
  public static final int HOT_RUNS = 2048;

  /** Settings by which a table is copied to the device when that pays. */
  public ResidencySettings(
      ResidencyConfig config,
      SegmentProfiles profiles,
      LinkCosts costs,
      double offlineShare,
      boolean zeroPages) {
    this(config, profiles, costs, offlineShare, zeroPages, HOT_RUNS);
  }

  /** Settings that let offline work hold everything, and lend pages as they are. */
  public ResidencySettings(
      ResidencyConfig config, SegmentProfiles profiles, Optional<PipelineCosts> costs) {
    this(config, profiles, costs.map(LinkCosts::of).orElseGet(LinkCosts::unknown), 1, false);
  }

  /**
   * A policy that knows sizes alone, and nothing brought in ahead: what is on the device depends on
   * requests alone.
   */
  public static ResidencySettings onDemand(ResidencyConfig.Policy policy) {
    ResidencyConfig standard = PipelaneConfig.defaults().residency();
    return new ResidencySettings(
        new ResidencyConfig(policy, standard.halfLife(), 0, false, standard.idlePrefetch()),
        SegmentProfiles.inMemory(),
        Optional.empty());
  }
}
