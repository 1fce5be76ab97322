package io.pipelane.switcher.sharing;

import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.modelstore.ModelVersion;
import java.util.Map;

/**
 * How online and offline work share a device, now.
 *
 * @param reason why it is in that state, in words; empty before its first look
 * @param share of its own speed, what the throttles let offline work have
 * @param load of the device, as the throttle sees it; 0 while nobody measures it
 * @param overlimitEntries within the last two hours
 * @param source where the sample's figures come from
 * @param slowdowns how many times as long as alone online runs take beside offline work, of models
 *     whose owners limit that
 * @param multiprocessors what offline work has of them to itself
 * @param evictions what stopping it at overload has taken
 */
public record SharingOverview(
    SharingState state,
    String reason,
    double share,
    double load,
    int overlimitEntries,
    String source,
    DeviceSample sample,
    OfflineGate.Counts counts,
    Map<ModelVersion, Double> slowdowns,
    ShareOverview multiprocessors,
    Evictions evictions) {}
