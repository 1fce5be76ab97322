package io.pipelane.cluster.placement;

import io.pipelane.cluster.profile.WorkloadProfile;
import java.time.Duration;
import java.util.Optional;

/**
 * An offline workload that runs or waits to.
 *
 * @param device on which it runs; empty while it waits
 * @param move how long it stands still when it begins on another device: its checkpoint is written,
 *     sent and read, and it starts
 */
public record OfflineJob(
    String id, WorkloadProfile profile, Optional<String> device, Duration move) {}
