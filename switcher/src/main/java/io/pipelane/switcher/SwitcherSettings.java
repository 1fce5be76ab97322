package io.pipelane.switcher;

import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.SegmentProfiles;

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
 */
public record SwitcherSettings(
    long weightBytes,
    long workingBytes,
    int lanes,
    int queuedRequests,
    long queuedBytes,
    Grouping grouping,
    SegmentProfiles profiles) {

  /** Settings of a switcher whose runs nobody is told about. */
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
