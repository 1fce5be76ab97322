package io.pipelane.switcher.sequence;

/** Host memory for states that are written out, in bytes. Safe for any thread. */
final class HostStates {
  private final long capacityBytes;
  private long takenBytes;
  private long times;

  HostStates(long capacityBytes) {
    this.capacityBytes = capacityBytes;
  }

  /** Takes some for a tensor; false when there is no room. */
  synchronized boolean tryTake(long bytes) {
    if (bytes > capacityBytes - takenBytes) {
      return false;
    }
    takenBytes += bytes;
    times++;
    return true;
  }

  synchronized void giveBack(long bytes) {
    takenBytes -= bytes;
  }

  /** What is taken at present. */
  synchronized long takenBytes() {
    return takenBytes;
  }

  /** How often some was taken. */
  synchronized long times() {
    return times;
  }
}
