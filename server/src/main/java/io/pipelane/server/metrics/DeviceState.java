package io.pipelane.server.metrics;

import io.pipelane.switcher.MemoryOverview;
import io.pipelane.switcher.memory.TransferCounters;
import io.pipelane.switcher.schedule.Preemptions;
import io.pipelane.switcher.schedule.QueueOverview;
import io.pipelane.switcher.sharing.SharingOverview;

/**
 * What the metrics say of one device.
 *
 * @param queue what waits
 * @param paddedRows rows that batches were filled up with, since the start
 * @param estimateError the median of |estimate - actual| / actual over its latest runs
 * @param preemptions what its runs have given way to
 * @param sharing how online and offline work share it
 */
public record DeviceState(
    MemoryOverview memory,
    TransferCounters transfers,
    QueueOverview queue,
    long paddedRows,
    double estimateError,
    Preemptions preemptions,
    SharingOverview sharing) {}
