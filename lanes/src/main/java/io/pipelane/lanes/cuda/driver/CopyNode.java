package io.pipelane.lanes.cuda.driver;

/**
 * A copy inside a captured graph.
 *
 * @param node the graph's handle of it
 * @param bytes in one row
 * @param rows 1 where the copy is contiguous
 */
public record CopyNode(
    long node,
    MemoryType sourceType,
    long source,
    MemoryType destinationType,
    long destination,
    long bytes,
    long rows) {

  /** The kind of memory that an end of a copy lies in. */
  public enum MemoryType {
    HOST,
    DEVICE,
    ARRAY
  }

  /** Whether both ends are one stretch of bytes. */
  public boolean isContiguous() {
    return rows == 1 && sourceType != MemoryType.ARRAY && destinationType != MemoryType.ARRAY;
  }

  /** Whether the copy brings host memory to the device, and so reads it again at each launch. */
  public boolean isHostToDevice() {
    return sourceType == MemoryType.HOST && destinationType == MemoryType.DEVICE;
  }
}
