package io.pipelane.switcher;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.config.section.SharingConfig;
import io.pipelane.config.section.SharingConfig.Protection;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.residency.ResidencySettings;
import io.pipelane.switcher.sharing.SharingSettings;

/**
 * The resources and settings of a switcher.
 *
 * @param weightBytes device memory for weights
 * @param workingBytes device memory for lanes and session constants
 * @param hostStateBytes host memory for states that device memory has no room for at present
 * @param keptBytes of the working memory, what tensors may take that stay between two runs
 * @param lanes runs that compute at once, in a lane each
 * @param queuedRequests requests that may wait
 * @param queuedBytes bytes of their inputs
 * @param grouping how transfers are cut
 * @param profiles told how long segments compute
 * @param residency which weights stay, and what is brought in ahead
 * @param scheduling what runs next
 * @param sharing how online and offline work share the device
 */
public record SwitcherSettings(
    long weightBytes,
    long workingBytes,
    long hostStateBytes,
    long keptBytes,
    int lanes,
    int queuedRequests,
    long queuedBytes,
    Grouping grouping,
    SegmentProfiles profiles,
    ResidencySettings residency,
    SchedulingConfig scheduling,
    SharingSettings sharing) {

  /**
   * The lanes of a device, without that of a share: where runs give way at their gates, there is
   * one more for each, which another runs in meanwhile.
   *
   * @param atOnce runs that compute at once
   */
  public static int allLanes(int atOnce, SchedulingConfig scheduling, SharingConfig sharing) {
    boolean giveWay = scheduling.preemption() || sharing.protection() == Protection.GATES;
    return giveWay ? 2 * atOnce : atOnce;
  }

  /**
   * Settings for a device that nobody looks at, whose offline runs pass gates; states stay, and no
   * tensor does between two runs.
   */
  public SwitcherSettings(
      long weightBytes,
      long workingBytes,
      int lanes,
      int queuedRequests,
      long queuedBytes,
      Grouping grouping,
      SegmentProfiles profiles,
      ResidencySettings residency,
      SchedulingConfig scheduling) {
    this(
        weightBytes,
        workingBytes,
        0,
        0,
        lanes,
        queuedRequests,
        queuedBytes,
        grouping,
        profiles,
        residency,
        scheduling,
        SharingSettings.unwatched());
  }

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
        ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL),
        PipelaneConfig.defaults().scheduling());
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
