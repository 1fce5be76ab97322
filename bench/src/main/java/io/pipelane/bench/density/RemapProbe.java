package io.pipelane.bench.density;

import io.pipelane.bench.measure.Medians;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.PagePool.Page;
import java.util.ArrayList;
import java.util.List;

/**
 * Measures how long runs wait for other pages to lie under a range's addresses: nothing where they
 * do as soon as {@code map} has returned.
 */
final class RemapProbe {
  private static final int ROUNDS = 20;

  private RemapProbe() {}

  /**
   * Nanoseconds a page, of a device on which at most so many pages are lent for a while.
   *
   * @param pages of each of two variants
   */
  static long pageNanos(Device device, int pages) {
    List<List<Page>> variants = List.of(take(device, pages), take(device, pages));
    List<Double> samples = new ArrayList<>();
    try (AddressRange range = device.reserve(pages * device.pages().pageBytes(), 0)) {
      long _ = map(range, variants.getFirst());
      for (int round = 1; round <= ROUNDS; round++) {
        unmap(range, pages);
        samples.add((double) map(range, variants.get(round % 2)) / pages);
      }
      unmap(range, pages);
    }
    variants.forEach(variant -> variant.forEach(device.pages()::giveBack));
    return Math.round(Medians.of(samples));
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
    DeviceEvent settled = range.settled(variant.size());
    if (settled.isDone()) {
      return 0;
    }
    long begin = System.nanoTime();
    settled.await();
    return System.nanoTime() - begin;
  }

  private static void unmap(AddressRange range, int pages) {
    for (int slot = 0; slot < pages; slot++) {
      range.unmap(slot);
    }
  }
}
