package io.pipelane.switcher;

import io.pipelane.switcher.grouping.Grouping;

/**
 * What a switcher may use.
 *
 * @param weightBytes device memory for weights
 * @param workingBytes device memory for lanes and session constants
 * @param lanes lanes that may be open at once
 * @param queuedRequests requests that may wait
 * @param queuedBytes bytes of their inputs
 * @param grouping how transfers are cut
 */
public record SwitcherSettings(
    long weightBytes,
    long workingBytes,
    int lanes,
    int queuedRequests,
    long queuedBytes,
    Grouping grouping) {}
