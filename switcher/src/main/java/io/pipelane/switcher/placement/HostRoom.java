package io.pipelane.switcher.placement;

/** Host memory for what sequences go on from, in bytes. Safe for any thread. */
final class HostRoom {
  private final long capacityBytes;
  private long takenBytes;

  HostRoom(long capacityBytes) {
    this.capacityBytes = capacityBytes;
  }

  /** Takes some; false when there is not so much. */
  synchronized boolean tryTake(long bytes) {
    boolean fits = bytes <= capacityBytes - takenBytes;
    takenBytes += fits ? bytes : 0;
    return fits;
  }

  synchronized void giveBack(long bytes) {
    takenBytes -= bytes;
  }

  /** What is taken at present. */
  synchronized long takenBytes() {
    return takenBytes;
  }
}
