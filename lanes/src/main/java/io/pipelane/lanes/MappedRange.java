package io.pipelane.lanes;

/** A worker process's addresses for a range of another process. Safe for any thread. */
public interface MappedRange {
  long address();

  /** Maps what lies under the bytes {@code [begin, endByte)} of the range now. */
  void map(long begin, long endByte);

  /**
   * Puts memory that reads as zero under all of it, until what is returned is closed; nothing is
   * under it then, and nobody runs on it meanwhile.
   */
  Blank blank();

  /** Memory that reads as zero. */
  @FunctionalInterface
  interface Blank extends AutoCloseable {
    /** Takes it away. */
    @Override
    void close();
  }
}
