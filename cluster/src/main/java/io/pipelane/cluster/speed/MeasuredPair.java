package io.pipelane.cluster.speed;

import io.pipelane.cluster.profile.WorkloadProfile;

/**
 * Two workloads that shared a device, and what came of it.
 *
 * @param share of the multiprocessors that the offline workload might use
 * @param throughput of the offline workload, over that of its own alone
 */
public record MeasuredPair(
    WorkloadProfile online, WorkloadProfile offline, double share, double throughput) {}
