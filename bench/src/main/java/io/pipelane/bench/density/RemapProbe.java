package io.pipelane.bench.density;

import io.pipelane.bench.measure.Medians;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.switcher.residency.RemapSteps;
import java.util.ArrayList;
import java.util.List;

/**
 * A probe of how long runs wait for other pages to lie under a range's addresses: nothing where
 * they do as soon as {@code map} has returned.
 */
final class RemapProbe {
  private static final int ROUNDS = 20;

  private RemapProbe() {}

  /**
   * The costs of remapping.
   *
   * @param pageNanos a page of a variant, in {@link RemapSteps}
   * @param heldNanos how much later the first lies there when a page's copy, and the mapping for
   *     it, was sent for just before
   */
  record Costs(long pageNanos, long heldNanos) {}

  /**
   * Measures a device on which at most so many pages are lent for a while.
   *
   * @param pages of each of two variants
   */
  static Costs measure(Device device, WeightSource weights, int pages) {
    List<List<Page>> variants = List.of(take(device, pages), take(device, pages));
    List<Double> all = new ArrayList<>();
    List<Double> first = new ArrayList<>();
    List<Double> behind = new ArrayList<>();
    long pageBytes = device.pages().pageBytes();
    try (AddressRange range = device.reserve(pages * pageBytes, 0);
        AddressRange other = device.reserve(pageBytes)) {
      long _ = map(range, variants.getFirst());
      for (int round = 1; round <= ROUNDS; round++) {
        List<Page> variant = variants.get(round % 2);
        unmap(range, pages);
        all.add((double) map(range, variant) / pages);
        unmap(range, pages);
        first.add((double) map(range, variant.subList(0, 1)));
        unmap(range, 1);
        // The page goes where it is copied to as one that is fetched ahead does.
        other.map(0, variant.getLast());
        DeviceEvent copied = device.copies().copy(weights, 0, other, 0, pageBytes);
        behind.add((double) map(range, variants.get((round + 1) % 2).subList(0, 1)));
        copied.await();
        other.unmap(0);
        unmap(range, 1);
        long _ = map(range, variant);
      }
      unmap(range, pages);
    }
    variants.forEach(variant -> variant.forEach(device.pages()::giveBack));
    double held = Medians.of(behind) - Medians.of(first);
    return new Costs(Math.round(Medians.of(all)), Math.max(0, Math.round(held)));
  }

  private static List<Page> take(Device device, int pages) {
    List<Page> taken = new ArrayList<>();
    for (int i = 0; i < pages; i++) {
      taken.add(device.pages().take().orElseThrow());
    }
    return taken;
  }

  /** How long somebody has to wait who needs the pages at once. */
  private static long map(AddressRange range, List<Page> variant) {
    for (int slot = 0; slot < variant.size(); slot++) {
      range.map(slot, variant.get(slot));
    }
    List<DeviceEvent> steps = RemapSteps.ends(variant.size()).stream().map(range::settled).toList();
    if (steps.getLast().isDone()) {
      return 0;
    }
    long begin = System.nanoTime();
    steps.getLast().await();
    return System.nanoTime() - begin;
  }

  private static void unmap(AddressRange range, int pages) {
    for (int slot = 0; slot < pages; slot++) {
      range.unmap(slot);
    }
  }
}
