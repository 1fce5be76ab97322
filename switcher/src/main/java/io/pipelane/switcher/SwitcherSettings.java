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
 * @param lanes runs that compute at once, in a lane each
 * @param grouping how transfers are cut
 * @param profiles told how long segments compute
 * @param residency which weights stay, and what is brought in ahead
 * @param scheduling what runs next
 * @param sharing how online and offline work share the device
 */
public record SwitcherSettings(
    Memory memory,
    int lanes,
    QueueLimits queue,
    Grouping grouping,
    SegmentProfiles profiles,
    ResidencySettings residency,
    SchedulingConfig scheduling,
    SharingSettings sharing) {

  /**
   * The memory that a switcher may use.
   *
   * @param weightBytes device memory for weights
   * @param workingBytes device memory for lanes and session constants
   * @param hostStateBytes host memory for states that device memory has no room for at present
   * @param keptBytes of the working memory, what tensors may take that stay between two runs
   */
  public record Memory(long weightBytes, long workingBytes, long hostStateBytes, long keptBytes) {}

  /**
   * The limits of the queue.
   *
   * @param requests that may wait
   * @param bytes of their inputs
   */
  public record QueueLimits(int requests, long bytes) {}

  /**
   * The usual settings, of a switcher that brings nothing in ahead of requests, on a device that
   * nobody looks at: states stay on it, no tensor does between two runs, and nobody is told how
   * long segments compute.
   */
  public static SwitcherSettings of(
      long weightBytes,
      long workingBytes,
      int lanes,
      int queuedRequests,
      long queuedBytes,
      Grouping grouping) {
    return new SwitcherSettings(
        new Memory(weightBytes, workingBytes, 0, 0),
        lanes,
        new QueueLimits(queuedRequests, queuedBytes),
        grouping,
        SegmentProfiles.inMemory(),
        ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL),
        PipelaneConfig.defaults().scheduling(),
        SharingSettings.unwatched());
  }

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

  /** The same with so much host memory for states. */
  public SwitcherSettings withHostStateBytes(long hostStateBytes) {
    Memory changed =
        new Memory(memory.weightBytes, memory.workingBytes, hostStateBytes, memory.keptBytes);
    return new SwitcherSettings(
        changed, lanes, queue, grouping, profiles, residency, scheduling, sharing);
  }

  /** The same where tensors may take so much between two runs. */
  public SwitcherSettings withKeptBytes(long keptBytes) {
    Memory changed =
        new Memory(memory.weightBytes, memory.workingBytes, memory.hostStateBytes, keptBytes);
    return new SwitcherSettings(
        changed, lanes, queue, grouping, profiles, residency, scheduling, sharing);
  }

  /** The same with others who are told how long segments compute. */
  public SwitcherSettings withProfiles(SegmentProfiles profiles) {
    return new SwitcherSettings(
        memory, lanes, queue, grouping, profiles, residency, scheduling, sharing);
  }

  /** The same where other weights stay. */
  public SwitcherSettings withResidency(ResidencySettings residency) {
    return new SwitcherSettings(
        memory, lanes, queue, grouping, profiles, residency, scheduling, sharing);
  }

  /** The same where something else runs next. */
  public SwitcherSettings withScheduling(SchedulingConfig scheduling) {
    return new SwitcherSettings(
        memory, lanes, queue, grouping, profiles, residency, scheduling, sharing);
  }

  /** The same where online and offline work share the device in another way. */
  public SwitcherSettings withSharing(SharingSettings sharing) {
    return new SwitcherSettings(
        memory, lanes, queue, grouping, profiles, residency, scheduling, sharing);
  }
}
