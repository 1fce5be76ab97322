package io.pipelane.server.metrics;

import io.pipelane.switcher.MemoryOverview;
import io.pipelane.switcher.memory.TransferCounters;
import io.pipelane.switcher.schedule.Preemptions;

/**
 * What the metrics say of one device.
 *
 * @param waiting requests in its queue
 * @param estimateError the median of |estimate - actual| / actual over its latest runs
 * @param preemptions what its runs have given way to
 */
public record DeviceState(
    MemoryOverview memory,
    TransferCounters transfers,
    int waiting,
    double estimateError,
    Preemptions preemptions) {}
