package io.pipelane.server.placement;

import io.pipelane.modelstore.ModelVersion;
import java.lang.System.Logger.Level;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The jobs on devices that cannot answer for them, and how those come to devices that can: others
 * give way, or change places with them. Guarded by the placement's lock.
 */
final class MisplacedJobs {
  private static final System.Logger LOG = System.getLogger(MisplacedJobs.class.getName());

  private final DeviceSlots slots;

  MisplacedJobs(DeviceSlots slots) {
    this.slots = slots;
  }

  /** Whether a job's device cannot answer for it, which nobody knew when it was chosen. */
  boolean has(PlacedJob job) {
    return job.slot != null && !job.mustMove() && slots.barred(job).contains(job.slot.name);
  }

  /** Tells a misplaced job where to go, or has room made for it. */
  void leadAway(PlacedJob job, DeviceSlot slot, long nanos) {
    Optional<DeviceSlot> free = slots.bestFree(slots.barred(job), job.profile);
    if (free.isPresent()) {
      job.tell(free.get(), nanos);
    } else if (!makeRoom(job.model(), slots.barred(job), nanos)) {
      changePlaces(job, slot, nanos);
    }
  }

  /**
   * Has a job that could be elsewhere leave a device that another needs, unless one leaves such a
   * device already.
   *
   * @param barred devices that are none of those
   * @return whether one leaves
   */
  boolean makeRoom(ModelVersion model, Set<String> barred, long nanos) {
    List<PlacedJob> holders = slots.holders(barred);
    if (holders.stream().anyMatch(PlacedJob::mustMove)) {
      return true;
    }
    for (PlacedJob holder : holders) {
      Optional<DeviceSlot> free = slots.bestFree(slots.barred(holder), holder.profile);
      if (free.isPresent()) {
        holder.tell(free.get(), nanos);
        LOG.log(
            Level.INFO,
            "an offline job of {0} moves from {1} to {2}, as one of {3} can be nowhere else",
            holder.workload(),
            holder.place().device(),
            free.get().name,
            model);
        return true;
      }
    }
    return false;
  }

  /**
   * Has a job that is where it cannot be answered change places with one that can: with another
   * that is misplaced itself, if there is one.
   */
  private void changePlaces(PlacedJob job, DeviceSlot slot, long nanos) {
    if (slot.next != null || !slot.reading().takesJobs()) {
      return;
    }
    Optional<PlacedJob> other =
        slots.holders(slots.barred(job)).stream()
            .filter(holder -> !slots.barred(holder).contains(slot.name))
            .max(Comparator.comparing(this::has));
    if (other.isPresent()) {
      DeviceSlot to = slots.of(other.get().place().device());
      other.get().tell(slot, nanos);
      job.tell(to, nanos);
      LOG.log(
          Level.INFO,
          "offline jobs of {0} on {1} and of {2} on {3} change places",
          job.workload(),
          slot.name,
          other.get().workload(),
          to.name);
    }
  }

  /** Whether a job that has no device, or none for it, could take a free one, its own then. */
  boolean waitsFor(DeviceSlot slot, PlacedJob job) {
    return (job.isDisplaced() || has(job)) && !slots.barred(job).contains(slot.name);
  }
}
