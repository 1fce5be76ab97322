package io.pipelane.switcher;

import io.pipelane.config.ResidencyConfig;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.SegmentProfiles;
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
 * @param profiles told how long segments compute
 * @param residency which weights stay, and what is brought in ahead
 */
public record SwitcherSettings(
    long weightBytes,
    long workingBytes,
    int lanes,
    int queuedRequests,
    long queuedBytes,
    Grouping grouping,
    SegmentProfiles profiles,
    ResidencySettings residency) {

  /** Settings of a switcher that brings nothing in ahead of requests. */
  public SwitcherSettings(
      long weightBytes,
      long workingBytes,
      int lanes,
      int queuedRequests,
      long queuedBytes,
      Grouping grouping,
      SegmentProfiles profiles) {
    this(
        weightBytes,
        workingBytes,
        lanes,
        queuedRequests,
        queuedBytes,
        grouping,
        profiles,
        ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL));
  }

  /** The same, whose runs nobody is told about. */
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
        SegmentProfiles.inMemory());
  }
}
