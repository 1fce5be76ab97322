package io.pipelane.switcher.memory;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.ResidencyConfig;
import io.pipelane.switcher.grouping.LinkModel;

/**
 * How it is decided which weights stay on a device.
 *
 * @param link what copies take, as far as it is known
 */
public record ResidencySettings(ResidencyConfig config, LinkModel link) {
  /** What a link does of which nothing is known: about a slow one, so that little is moved. */
  private static final LinkModel SOME_LINK = LinkModel.line(5_000, 10e9);

  /** As configured, with a link of which nothing is known. */
  public static ResidencySettings of(ResidencyConfig config) {
    return new ResidencySettings(config, SOME_LINK);
  }

  /**
   * With a certain policy, and nothing brought in ahead: what is on the device depends on requests
   * alone.
   */
  public static ResidencySettings onDemand(ResidencyConfig.Policy policy) {
    ResidencyConfig standard = PipelaneConfig.defaults().residency();
    return of(new ResidencyConfig(policy, standard.halfLife(), false));
  }
}
