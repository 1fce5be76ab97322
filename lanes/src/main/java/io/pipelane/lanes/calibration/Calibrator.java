package io.pipelane.lanes.calibration;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.CopyEngine;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.PagePool;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.calibration.LinkProfile.Copy;
import io.pipelane.modelstore.MemorySource;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * The calibrator of a device that nobody uses, which measures it the way weights come onto it;
 * takes about a second.
 */
public final class Calibrator {
  /** What is copied at most, and so the pages that a device must have. */
  public static final long LARGEST_COPY = 64L << 20;

  private static final long SMALLEST_COPY = 64L << 10;
  private static final int SIZE_STEP = 4;
  private static final long NANOS_PER_SIZE = 30_000_000;
  private static final long NANOS_PER_SLOW_COPY = 200_000_000;
  private static final int LONGEST_ROW = 64;
  private static final int ROUNDS = 3;
  private static final int MAPPINGS = 5;

  private final LongSupplier nanoClock;
  private final Runnable turn;

  /** Measures on a machine that has nothing else to do. */
  public Calibrator(LongSupplier nanoClock) {
    this(nanoClock, () -> {});
  }

  /**
   * Measures beside other work.
   *
   * @param turn called before each row of copies, some milliseconds of work; blocks until the
   *     machine has time for it, or throws to end the measurement
   */
  public Calibrator(LongSupplier nanoClock, Runnable turn) {
    this.nanoClock = nanoClock;
    this.turn = turn;
  }

  /**
   * Measures.
   *
   * @param device with {@link #LARGEST_COPY} of pages free, used by nobody else meanwhile
   * @param driver see {@link Calibration}
   * @param source {@link #LARGEST_COPY} of host memory, prepared as the device wants it
   */
  public Calibration calibrate(
      Device device, String driver, MemorySegment source, DeviceProbe probe) {
    PagePool pool = device.pages();
    List<Page> pages = new ArrayList<>();
    AddressRange range = device.reserve(LARGEST_COPY);
    try {
      for (int i = 0; i < range.slots(); i++) {
        pages.add(pool.take().orElseThrow(() -> new IllegalStateException("too few pages")));
      }
      double map = Double.POSITIVE_INFINITY;
      double unmap = Double.POSITIVE_INFINITY;
      for (int i = 0; i < MAPPINGS; i++) {
        long begin = nanoClock.getAsLong();
        map(range, pages);
        probe.awaitMappings();
        long mapped = nanoClock.getAsLong();
        unmap(range);
        probe.awaitMappings();
        long end = nanoClock.getAsLong();
        map = Math.min(map, (double) (mapped - begin) / pages.size());
        unmap = Math.min(unmap, (double) (end - mapped) / pages.size());
      }
      LinkProfile link = link(device, range, pages, source);
      return new Calibration(
          device.name(),
          driver,
          link,
          pool.pageBytes(),
          map,
          unmap,
          probe.launchNanos(),
          probe.products());
    } finally {
      range.close();
      pages.forEach(pool::giveBack);
    }
  }

  private LinkProfile link(
      Device device, AddressRange range, List<Page> pages, MemorySegment source) {
    map(range, pages);
    try {
      return new LinkProfile(copies(device.copies(), range, source));
    } finally {
      unmap(range);
    }
  }

  private static void map(AddressRange range, List<Page> pages) {
    for (int slot = 0; slot < pages.size(); slot++) {
      range.map(slot, pages.get(slot));
    }
  }

  private static void unmap(AddressRange range) {
    for (int slot = 0; slot < range.slots(); slot++) {
      range.unmap(slot);
    }
  }

  /** On a slow link the large sizes are left out: they tell nothing new, and take long. */
  private List<Copy> copies(CopyEngine engine, AddressRange range, MemorySegment source) {
    MemorySource weights = new MemorySource(source);
    row(engine, weights, range, LARGEST_COPY, 1);
    List<Copy> copies = new ArrayList<>();
    for (long bytes = SMALLEST_COPY; bytes <= LARGEST_COPY; bytes *= SIZE_STEP) {
      long once = row(engine, weights, range, bytes, 1);
      int length = Math.clamp(NANOS_PER_SIZE / ROUNDS / Math.max(1, once), 1, LONGEST_ROW);
      double best = Double.POSITIVE_INFINITY;
      for (int round = 0; round < ROUNDS; round++) {
        best = Math.min(best, (double) row(engine, weights, range, bytes, length) / length);
      }
      copies.add(new Copy(bytes, Math.max(1, best)));
      if (best * SIZE_STEP > NANOS_PER_SLOW_COPY) {
        break;
      }
    }
    return copies;
  }

  /** The time of some copies in a row, until the last has arrived. */
  private long row(
      CopyEngine engine, MemorySource source, AddressRange range, long bytes, int length) {
    turn.run();
    long begin = nanoClock.getAsLong();
    DeviceEvent last = engine.copy(source, 0, range, 0, bytes);
    for (int i = 1; i < length; i++) {
      long offset = i * bytes % LARGEST_COPY;
      last = engine.copy(source, offset, range, offset, bytes);
    }
    last.await();
    return nanoClock.getAsLong() - begin;
  }
}
