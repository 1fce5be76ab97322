package io.pipelane.lanes;

/** A worker process's addresses for a range of another process. Safe for any thread. */
public interface MappedRange {
  long address();

  /** Maps what lies under the bytes {@code [begin, endByte)} of the range now. */
  void map(long begin, long endByte);
}
