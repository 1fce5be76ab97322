package io.pipelane.lanes.cpu;

import java.lang.foreign.MemorySegment;

/**
 * The addresses behind a range's slots at which weights are read in place. All of them show a
 * model's, or nothing. Guarded by the range's monitor.
 */
final class CpuInPlaceWindow {
  /*
   * It shows a second mapping, somebody else's, of the same pages of the page cache. So addresses
   * stay while files change, and nothing is in memory twice. Such a file must not get shorter:
   * touching what is gone ends the process (SIGBUS). Those of the import cache are never written
   * after their publication.
   */
  private final long address;
  private final long byteSize;

  /**
   * A window on reserved addresses, as many as whole pages of the system hold its bytes.
   *
   * @param byteSize 0 for a range without a window
   */
  CpuInPlaceWindow(long address, long byteSize) {
    this.address = address;
    this.byteSize = byteSize;
  }

  /** Where it begins. */
  long address() {
    if (byteSize == 0) {
      throw new UnsupportedOperationException("the address range has no window");
    }
    return address;
  }

  /** Shows weights in host memory in place of others; nothing where the system refuses. */
  void show(MemorySegment weights) {
    if (weights.byteSize() != byteSize) {
      throw new IllegalArgumentException(
          "a window of %d bytes cannot show %d".formatted(byteSize, weights.byteSize()));
    }
    try {
      LibC.mapSameAt(address(), LibC.wholePages(byteSize), weights.address());
    } catch (RuntimeException e) {
      hide();
      throw e;
    }
  }

  /** Shows nothing any more. */
  void hide() {
    LibC.mapNothingAt(address(), LibC.wholePages(byteSize));
  }
}
