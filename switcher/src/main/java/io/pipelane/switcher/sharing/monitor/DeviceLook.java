package io.pipelane.switcher.sharing.monitor;

import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.modelstore.ModelVersion;
import java.util.Map;

/**
 * The findings of the latest look at a device that online and offline work share.
 *
 * @param reason why it is in that state, in words; empty before its first look
 * @param overlimitEntries within the last two hours
 * @param share of its own speed, what the throttles let offline work have
 * @param load of the device, as the throttle sees it; 0 while nobody measures it
 * @param source where the sample's figures come from
 * @param slowdowns how many times as long as alone online runs take beside offline work, of models
 *     whose owners limit that
 */
public record DeviceLook(
    SharingState state,
    String reason,
    int overlimitEntries,
    double share,
    double load,
    String source,
    DeviceSample sample,
    Map<ModelVersion, Double> slowdowns) {}
