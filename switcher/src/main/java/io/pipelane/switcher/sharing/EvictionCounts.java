package io.pipelane.switcher.sharing;

/**
 * The counts of evictions of offline work from a device that was overloaded, since the start.
 *
 * @param stops orders to stop that met a run under way
 * @param stopNanos from those orders until all offline runs stood at their gates, all together
 * @param longestStopNanos of one
 * @param memoryReturns times that memory came back then
 * @param memoryNanos that taking back what no run held took, all together
 * @param longestMemoryNanos of one time
 * @param memoryBytes that were taken back
 */
public record EvictionCounts(
    long stops,
    long stopNanos,
    long longestStopNanos,
    long memoryReturns,
    long memoryNanos,
    long longestMemoryNanos,
    long memoryBytes) {
  static final EvictionCounts NONE = new EvictionCounts(0, 0, 0, 0, 0, 0, 0);

  EvictionCounts withStop(long nanos) {
    return new EvictionCounts(
        stops + 1,
        stopNanos + nanos,
        Math.max(longestStopNanos, nanos),
        memoryReturns,
        memoryNanos,
        longestMemoryNanos,
        memoryBytes);
  }

  EvictionCounts withMemory(long nanos, long bytes) {
    return new EvictionCounts(
        stops,
        stopNanos,
        longestStopNanos,
        memoryReturns + 1,
        memoryNanos + nanos,
        Math.max(longestMemoryNanos, nanos),
        memoryBytes + bytes);
  }
}
