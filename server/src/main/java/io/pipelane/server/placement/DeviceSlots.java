package io.pipelane.server.placement;

import io.pipelane.cluster.profile.WorkloadProfile;
import io.pipelane.modelstore.ModelVersion;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A host's devices, and which of them would do for a job. Guarded by the placement's lock. */
final class DeviceSlots {
  private final Map<String, DeviceSlot> slots = new LinkedHashMap<>();
  private final Function<ModelVersion, List<String>> able;
  private final Experience experience;

  /**
   * Devices without jobs.
   *
   * @param able see {@link JobPlacement#open}
   */
  DeviceSlots(
      List<DeviceReading> readings,
      Function<ModelVersion, List<String>> able,
      Experience experience) {
    this.able = able;
    this.experience = experience;
    readings.forEach(reading -> slots.put(reading.name(), new DeviceSlot(reading)));
  }

  /** All of them, always in the same order. */
  Collection<DeviceSlot> all() {
    return slots.values();
  }

  /** A device by its name. */
  DeviceSlot of(String device) {
    return Objects.requireNonNull(slots.get(device), device);
  }

  /** The devices that cannot answer for a model, while others can. */
  Set<String> barred(ModelVersion model) {
    List<String> can = able.apply(model);
    return can.isEmpty()
        ? Set.of()
        : slots.keySet().stream()
            .filter(device -> !can.contains(device))
            .collect(Collectors.toUnmodifiableSet());
  }

  /** The devices that cannot answer for a job, while others may. */
  Set<String> barred(PlacedJob job) {
    Set<String> unable = barred(job.model());
    Set<String> all = new HashSet<>(unable);
    all.addAll(job.tooSmall);
    return all.size() < slots.size() ? all : unable;
  }

  /**
   * Of the healthy devices without a job, where it would be fastest; the first of equals.
   *
   * @param barred from it
   */
  Optional<DeviceSlot> bestFree(Set<String> barred, Optional<WorkloadProfile> profile) {
    @Nullable DeviceSlot best = null;
    double most = -1;
    for (DeviceSlot slot : slots.values()) {
      if (slot.isFree() && !barred.contains(slot.name)) {
        double predicted = experience.predicted(slot.online, profile);
        if (predicted > most) {
          most = predicted;
          best = slot;
        }
      }
    }
    return Optional.ofNullable(best);
  }

  /** How many healthy devices have no job. */
  int free() {
    return (int) slots.values().stream().filter(DeviceSlot::isFree).count();
  }

  /** The jobs on the healthy devices that are not barred. */
  List<PlacedJob> holders(Set<String> barred) {
    return slots.values().stream()
        .filter(slot -> !barred.contains(slot.name) && slot.next == null)
        .filter(slot -> slot.reading().takesJobs())
        .flatMap(slot -> Stream.ofNullable(slot.job))
        .toList();
  }
}
