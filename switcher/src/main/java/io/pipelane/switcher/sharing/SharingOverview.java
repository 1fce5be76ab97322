package io.pipelane.switcher.sharing;

import io.pipelane.switcher.sharing.trial.ShareOverview;

/**
 * How online and offline work share a device, now.
 *
 * @param seen as it was looked at last
 * @param multiprocessors what offline work has of them to itself
 * @param evictions what stopping it at overload has taken
 */
public record SharingOverview(
    DeviceLook seen,
    OnlineWork.Counts online,
    OfflineRuns.Counts offline,
    ShareOverview multiprocessors,
    Evictions evictions) {}
