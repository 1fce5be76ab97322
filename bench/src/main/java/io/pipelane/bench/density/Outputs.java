package io.pipelane.bench.density;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongFunction;

/** Memory that all runs write their outputs to, one after another; nobody reads them. */
final class Outputs {
  private final LongFunction<MemorySegment> memory;
  private final Map<String, MemorySegment> places = new ConcurrentHashMap<>();

  Outputs(LongFunction<MemorySegment> memory) {
    this.memory = memory;
  }

  /** The same place for every output of this name and size. */
  MemorySegment place(String name, long byteSize) {
    return places.computeIfAbsent(name + " " + byteSize, _ -> memory.apply(byteSize));
  }
}
