package io.pipelane.lanes;

/** A worker process's addresses for a range of another process. Safe for any thread. */
public interface MappedRange {
  long address();

  /** Maps what lies under the bytes {@code [begin, endByte)} of the range now. */
  void map(long begin, long endByte);

  /**
   * Begins to map what lies under the bytes {@code [0, endByte)}, while the caller goes on; whoever
   * needs some of it calls {@link #map} nevertheless. Where mapping is fast nothing is done.
   */
  default void mapAhead(long endByte) {}
}
