package io.pipelane.lanes.execution;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.IntStream;

/**
 * The number of allocations that ONNX Runtime has been given since the start, by purpose and by
 * size. Safe for any thread.
 */
public final class AllocationSizes {
  /** The purpose of an allocation. */
  public enum Purpose {
    /** Activations and scratch of a run. */
    RUN,
    /** What a session keeps. */
    SESSION,
    /** Whatever belongs to neither. */
    FRAMEWORK
  }

  /** A class holds the sizes up to a power of two that the class before does not. */
  private static final int CLASSES = Long.SIZE;

  private final Map<Purpose, AtomicLongArray> counts = new EnumMap<>(Purpose.class);

  AllocationSizes() {
    for (Purpose purpose : Purpose.values()) {
      counts.put(purpose, new AtomicLongArray(CLASSES));
    }
  }

  /** The largest size in a class. */
  public static long largestBytes(int sizeClass) {
    return 1L << sizeClass;
  }

  void count(Purpose purpose, long bytes) {
    int sizeClass = Long.SIZE - Long.numberOfLeadingZeros(Math.max(1, bytes) - 1);
    of(purpose).incrementAndGet(sizeClass);
  }

  /** Allocations so far, by class of size; the first class has those of one byte and less. */
  public List<Long> counts(Purpose purpose) {
    return IntStream.range(0, CLASSES).mapToObj(of(purpose)::get).toList();
  }

  private AtomicLongArray of(Purpose purpose) {
    return Objects.requireNonNull(counts.get(purpose));
  }
}
