package io.pipelane.switcher;

import io.pipelane.switcher.memory.Grouping;

/**
 * What a switcher may use.
 *
 * @param weightBytes device memory for weights in all forms
 * @param workingBytes device memory for lanes and session constants
 * @param lanes lanes that may be open at once
 * @param queuedRequests requests that may wait
 * @param queuedBytes bytes of their inputs
 * @param grouping how transfers are cut
 * @param packing whether hot models get a packed form
 * @param hotUses uses within about a minute that make a model hot
 */
public record SwitcherSettings(
    long weightBytes,
    long workingBytes,
    int lanes,
    int queuedRequests,
    long queuedBytes,
    Grouping grouping,
    boolean packing,
    int hotUses) {}
