package io.pipelane.switcher.sequence;

/** Host memory for states that are written out, in bytes. Safe for any thread. */
final class HostStates {
  /*
   * A state that comes back needs room on the device, which others leave for the host. Where the
   * host is full, neither could go first. So they leave in exchange, whatever the host holds: what
   * comes back makes room there once it is back, and keeps its place until then, so that nothing is
   * lost where it does not come back after all. All states together are charged the
   * capacity and half the working memory at most for one copy, as none begins or grows while the
   * host holds more than its capacity.
   */
  private final long capacityBytes;
  private long takenBytes;
  private long times;

  HostStates(long capacityBytes) {
    this.capacityBytes = capacityBytes;
  }

  /** What there is room for. */
  synchronized long freeBytes() {
    return Math.max(0, capacityBytes - takenBytes);
  }

  /** Takes some for a state; false when there is no room. */
  synchronized boolean tryTake(long bytes) {
    boolean hasRoom = bytes <= capacityBytes - takenBytes;
    if (hasRoom) {
      takeInExchange(bytes);
    }
    return hasRoom;
  }

  /** Takes some in favour of a state that comes back, for which there is always room. */
  synchronized void takeInExchange(long bytes) {
    takenBytes += bytes;
    times++;
  }

  /** Whether an exchange has left more here than the capacity, or is about to. */
  synchronized boolean holdsMoreThanItMay() {
    return takenBytes > capacityBytes;
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
