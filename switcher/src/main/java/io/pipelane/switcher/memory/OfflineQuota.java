package io.pipelane.switcher.memory;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.NeverFits;

/**
 * The limit on the memory for weights that offline runs may hold (MuxFlow §4.1, workload level).
 * Only what runs hold counts, since anybody may have the rest. Guarded by the daemon's lock.
 */
final class OfflineQuota {
  private final WeightMemory memory;
  private final StuckLeases stuck;
  private final long capacityBytes;
  private final double share;

  /**
   * A quota of a device's memory for weights.
   *
   * @param share of it, above 0, at most 1
   */
  OfflineQuota(WeightMemory memory, StuckLeases stuck, long capacityBytes, double share) {
    this.memory = memory;
    this.stuck = stuck;
    this.capacityBytes = capacityBytes;
    this.share = share;
  }

  /** In whole pages, one at least. */
  private long bytes() {
    long page = memory.pageBytes();
    return Math.max(page, (long) (capacityBytes * share) / page * page);
  }

  /** Whether offline work may ever hold a model as it is used now. */
  boolean fits(Residency residency) {
    return !isCounted(residency) || wholeBytes(residency) <= bytes();
  }

  /**
   * Refuses offline work of a model that is larger than the quota.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY}, with {@link NeverFits} as its cause
   */
  void requireFits(Residency residency) {
    if (!fits(residency)) {
      long needed = wholeBytes(residency);
      ModelVersion model = residency.model.version();
      throw NeverFits.refusal(
          "offline work of model %s needs %s of device memory for its weights; all offline work together may hold %s (sharing.offline-memory-percent, of %s): raise that or device.memory, or ask online"
              .formatted(
                  model, new ByteSize(needed), new ByteSize(bytes()), new ByteSize(capacityBytes)));
    }
  }

  /**
   * Refuses offline work of a model that would wait for runs that do not end.
   *
   * @throws StatusException {@link Status#UNAVAILABLE}
   */
  void requireNotKept(Residency residency) {
    long kept =
        memory.residencies.values().stream()
            .filter(other -> isCounted(other) && stuck.keep(other))
            .mapToLong(this::wholeBytes)
            .sum();
    if (kept > 0 && kept + wholeBytes(residency) > bytes()) {
      throw stuck.refusal("device memory for offline work");
    }
  }

  /** Whether an offline run of a model may begin beside those that are under way. */
  boolean admits(Residency residency) {
    if (!isCounted(residency) || residency.leases > 0) {
      return true;
    }
    long held =
        memory.residencies.values().stream()
            .filter(other -> other.leases > 0 && isCounted(other))
            .mapToLong(this::wholeBytes)
            .sum();
    return held + wholeBytes(residency) <= bytes();
  }

  /** What online work uses too is not offline work's. */
  private static boolean isCounted(Residency residency) {
    return residency.holding.isOffline();
  }

  private long wholeBytes(Residency residency) {
    return residency.slotsNeeded() * memory.pageBytes();
  }
}
