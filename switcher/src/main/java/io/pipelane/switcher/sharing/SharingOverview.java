package io.pipelane.switcher.sharing;

import io.pipelane.switcher.sharing.gate.OfflineRuns;
import io.pipelane.switcher.sharing.gate.OnlineWork;
import io.pipelane.switcher.sharing.monitor.DeviceLook;
import io.pipelane.switcher.sharing.trial.ShareOverview;

/**
 * The sharing of a device by online and offline work, as it is now.
 *
 * @param seen as it was looked at last
 * @param objectives the requests by which its attainment is judged, since the start
 * @param multiprocessors what offline work has of them to itself
 * @param evictions what stopping it at overload has taken
 */
public record SharingOverview(
    DeviceLook seen,
    Attainment.Objectives objectives,
    OnlineWork.Counts online,
    OfflineRuns.Counts offline,
    ShareOverview multiprocessors,
    EvictionCounts evictions) {}
