package io.pipelane.bench.density;

import io.pipelane.bench.measure.Medians;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.PagePool.Page;
import java.util.ArrayList;
import java.util.List;

/** Measures what putting other pages under a range's addresses takes. */
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
      map(range, variants.getFirst());
      for (int round = 1; round <= ROUNDS; round++) {
        long begin = System.nanoTime();
        unmap(range, pages);
        map(range, variants.get(round % 2));
        samples.add((double) (System.nanoTime() - begin) / pages);
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

  private static void map(AddressRange range, List<Page> variant) {
    for (int slot = 0; slot < variant.size(); slot++) {
      range.map(slot, variant.get(slot));
    }
    range.settled(variant.size()).await();
  }

  private static void unmap(AddressRange range, int pages) {
    for (int slot = 0; slot < pages; slot++) {
      range.unmap(slot);
    }
  }
}
