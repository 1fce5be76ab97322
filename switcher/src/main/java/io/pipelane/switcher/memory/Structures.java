package io.pipelane.switcher.memory;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.Device;
import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.residency.Usage;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * The structures of all registered models: gives each variant a range of its structure in turn, and
 * a structure more ranges where its variants keep waiting for each other.
 *
 * <p>Guarded by the memory daemon's lock.
 */
final class Structures {
  private static final Duration CONTENTION_HALF_LIFE = Duration.ofMinutes(1);

  /** So many waits for a range within about a minute pay for a range and sessions more. */
  private static final double CONTENDED = 3;

  private final Map<Structure.Key, Structure> structures = new HashMap<>();
  private final Device device;
  private final WeightMemory memory;
  private final Predicate<Structure> roomForRange;
  private final Consumer<Residency> whenSettled;
  private final LongSupplier nanoClock;

  /**
   * Knows no structure yet.
   *
   * @param roomForRange whether the sessions that one more range of a structure needs would fit
   * @param whenSettled told a variant when its pages lie in its range, on any thread
   */
  Structures(
      Device device,
      WeightMemory memory,
      Predicate<Structure> roomForRange,
      Consumer<Residency> whenSettled,
      LongSupplier nanoClock) {
    this.whenSettled = whenSettled;
    this.device = device;
    this.memory = memory;
    this.roomForRange = roomForRange;
    this.nanoClock = nanoClock;
  }

  /** Finds or makes the structure of one more variant. */
  Structure join(Plan plan) {
    Structure.Key key = Structure.Key.of(plan);
    Structure structure = structures.get(key);
    if (structure == null) {
      structure = new Structure(key, new Usage(CONTENTION_HALF_LIFE, nanoClock.getAsLong()));
      addRange(structure);
      structures.put(key, structure);
    }
    structure.variants++;
    return structure;
  }

  /**
   * Lets a variant go that has no pages any more; with the last one go the ranges. The variant is
   * there still when that fails, and may be let go again.
   */
  void leave(Residency residency) {
    if (residency.isMounted()) {
      residency.range().dismount();
    }
    Structure structure = residency.structure;
    if (structure.variants == 1) { // Nobody joins one any more of which some ranges may be closed.
      structures.remove(structure.key(), structure);
      structure.ranges.forEach(range -> range.addresses.close());
    }
    structure.variants--;
  }

  private void addRange(Structure structure) {
    long bytes = Math.max(1, structure.key().weightBytes());
    AddressRange addresses = device.reserve(bytes, structure.key().inPlaceBytes());
    structure.ranges.add(new StructureRange(structure, addresses));
  }

  /**
   * Gives a model a range, from under another variant if nobody uses that.
   *
   * @param again whether the same run has asked before, and is counted
   * @return false when all ranges are in use
   */
  boolean mount(Residency residency, boolean again) {
    if (residency.isMounted() || mountInYielding(residency)) {
      return true;
    }
    Structure structure = residency.structure;
    long now = nanoClock.getAsLong();
    if (!again) {
      structure.contention.used(now);
    }
    if (structure.contention.at(now) < CONTENDED
        || structure.ranges.size() >= structure.variants
        || !roomForRange.test(structure)) {
      return false;
    }
    addRange(structure);
    return mountInYielding(residency);
  }

  private boolean mountInYielding(Residency residency) {
    residency.structure.ranges.forEach(this::settle);
    long begin = nanoClock.getAsLong();
    Optional<StructureRange> found = residency.structure.yielding(begin);
    if (found.isEmpty()) {
      return false;
    }
    StructureRange range = found.get();
    Residency former = range.mounted();
    if (former == null) {
      range.mount(residency, () -> whenSettled.accept(residency));
      return true;
    }
    range.dismount();
    range.mount(residency, () -> whenSettled.accept(residency));
    memory.counters.remaps++;
    memory.counters.remapNanos += nanoClock.getAsLong() - begin;
    return true;
  }

  private void settle(StructureRange range) {
    Residency mounted = range.mounted();
    if (mounted != null) {
      memory.settle(mounted);
    }
  }
}
