package io.pipelane.switcher.sharing;

import io.pipelane.lanes.monitor.DeviceSample;

/**
 * How online and offline work share a device, now.
 *
 * @param share of its own speed, what the throttle lets offline work have
 * @param load of the device, as the throttle sees it; 0 while nobody measures it
 * @param overlimitEntries within the last two hours
 * @param source where the sample's figures come from
 */
public record SharingOverview(
    SharingState state,
    double share,
    double load,
    int overlimitEntries,
    String source,
    DeviceSample sample,
    OfflineGate.Counts counts) {}
