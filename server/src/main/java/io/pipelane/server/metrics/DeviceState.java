package io.pipelane.server.metrics;

import io.pipelane.switcher.MemoryOverview;
import io.pipelane.switcher.kept.KeptOverview;
import io.pipelane.switcher.memory.account.TransferCounters;
import io.pipelane.switcher.placement.MemberOverview;
import io.pipelane.switcher.schedule.queue.QueueOverview;
import io.pipelane.switcher.schedule.turn.Preemptions;
import io.pipelane.switcher.sequence.StatesOverview;
import io.pipelane.switcher.sharing.SharingOverview;
import io.pipelane.switcher.worker.RetryOverview;

/**
 * The state of one device as the metrics tell it.
 *
 * @param queue what waits
 * @param paddedRows rows that batches were filled up with, since the start
 * @param estimateError the median of |estimate - actual| / actual over its latest runs
 * @param answerEstimateError the same of the time from a request's coming to its answer
 * @param preemptions what its runs have given way to
 * @param lanes runs that may compute at once at present
 * @param shortRuns made by the threads that brought the requests, since the start
 * @param states what it keeps for sequences
 * @param kept what it keeps between two runs
 * @param sharing how online and offline work share it
 * @param retries what became of runs that lost their worker process
 * @param member what it is among the others
 */
public record DeviceState(
    MemoryOverview memory,
    TransferCounters transfers,
    QueueOverview queue,
    long paddedRows,
    double estimateError,
    double answerEstimateError,
    Preemptions preemptions,
    int lanes,
    long shortRuns,
    StatesOverview states,
    KeptOverview kept,
    SharingOverview sharing,
    RetryOverview retries,
    MemberOverview member) {}
