package io.pipelane.switcher;

import io.pipelane.config.ResidencyConfig;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.memory.ResidencySettings;

/**
 * What a switcher may use.
 *
 * @param weightBytes device memory for weights
 * @param workingBytes device memory for lanes and session constants
 * @param lanes lanes that may be open at once
 * @param queuedRequests requests that may wait
 * @param queuedBytes bytes of their inputs
 * @param grouping how transfers are cut
 * @param residency which weights stay
 */
public record SwitcherSettings(
    long weightBytes,
    long workingBytes,
    int lanes,
    int queuedRequests,
    long queuedBytes,
    Grouping grouping,
    ResidencySettings residency) {

  /** Settings of a switcher that brings nothing in ahead of requests. */
  public SwitcherSettings(
      long weightBytes,
      long workingBytes,
      int lanes,
      int queuedRequests,
      long queuedBytes,
      Grouping grouping) {
    this(
        weightBytes,
        workingBytes,
        lanes,
        queuedRequests,
        queuedBytes,
        grouping,
        ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL));
  }
}
