package io.pipelane.cluster.placement;

import io.pipelane.cluster.profile.WorkloadProfile;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/**
 * An offline workload that runs or waits to.
 *
 * @param device on which it runs; empty while it waits
 * @param move how long it stands still when it begins on another device: its checkpoint is written,
 *     sent and read, and it starts
 * @param barred devices that cannot run it, as they have no room for its model
 */
public record OfflineJob(
    String id,
    WorkloadProfile profile,
    Optional<String> device,
    Duration move,
    Set<String> barred) {
  public OfflineJob {
    barred = Set.copyOf(barred);
  }
}
