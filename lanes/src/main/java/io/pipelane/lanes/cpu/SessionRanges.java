package io.pipelane.lanes.cpu;

/** The ranges that sessions are built over, by the addresses they begin at. */
interface SessionRanges {
  /** Puts memory under a range for a while, see {@link CpuAddressRange#scratch}. */
  Scratch scratch(long address);

  /** Where what is read in place can be seen, see {@link CpuAddressRange#windowAddress}. */
  long windowAddress(long address);

  /** Memory under a range, until it is closed. */
  @FunctionalInterface
  interface Scratch extends AutoCloseable {
    @Override
    void close();
  }
}
