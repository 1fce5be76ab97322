package io.pipelane.lanes.cuda.driver;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * The host memory that this process has pinned: threads that copy look here, and leave the driver's
 * lock to those that launch. Safe for any thread.
 */
final class PinnedRanges {
  private final ConcurrentSkipListMap<Long, Long> ends = new ConcurrentSkipListMap<>();

  /** Notes that memory is pinned, none of which was before. */
  void add(MemorySegment memory) {
    ends.put(memory.address(), memory.address() + memory.byteSize());
  }

  /** Notes that memory that was added is about to be pinned no longer. */
  void remove(MemorySegment memory) {
    ends.remove(memory.address());
  }

  /** Whether all of some memory is pinned, and was by one call. */
  boolean contains(MemorySegment memory) {
    Map.Entry<Long, Long> range = memory.isNative() ? ends.floorEntry(memory.address()) : null;
    return range != null && memory.address() + memory.byteSize() <= range.getValue();
  }
}
