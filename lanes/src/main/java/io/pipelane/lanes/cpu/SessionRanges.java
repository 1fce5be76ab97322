package io.pipelane.lanes.cpu;

/** The ranges that sessions are built over. */
@FunctionalInterface
interface SessionRanges {
  /** Puts memory under the range at an address for a while, see {@link CpuAddressRange#scratch}. */
  Scratch scratch(long address);

  /** Memory under a range, until it is closed. */
  @FunctionalInterface
  interface Scratch extends AutoCloseable {
    @Override
    void close();
  }
}
