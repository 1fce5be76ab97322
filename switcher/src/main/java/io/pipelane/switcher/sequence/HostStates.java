package io.pipelane.switcher.sequence;

/** Host memory for states that are written out, in bytes. Safe for any thread. */
final class HostStates {
  /*
   * A state that comes back needs room on the device, which another one leaves for the host. Where
   * the host is full, neither could go first. So the one that comes back lends what it has here, and
   * keeps it: where it does not come back after all, nothing is lost. States are of several sizes.
   * So what is written out in exchange may go beyond the capacity. What has left has two copies on
   * the device. So as long as the host holds more than its capacity, the device has twice as much
   * room as that, and whoever is to come back and lends no more than that finds it. Nothing else may
   * take it: no state begins or grows meanwhile.
   */
  private final long capacityBytes;
  private long takenBytes;
  private long lentBytes;
  private long times;

  HostStates(long capacityBytes) {
    this.capacityBytes = capacityBytes;
  }

  /** Takes some for a state; false when there is no room. */
  synchronized boolean tryTake(long bytes) {
    return tryTake(bytes, bytes <= capacityBytes - takenBytes);
  }

  /** The same in favour of a state that comes back, of what those that do so lend. */
  synchronized boolean tryTakeInExchange(long bytes) {
    return tryTake(bytes, takenBytes - lentBytes < capacityBytes);
  }

  private boolean tryTake(long bytes, boolean hasRoom) {
    takenBytes += hasRoom ? bytes : 0;
    times += hasRoom ? 1 : 0;
    return hasRoom;
  }

  /** A state that is to come back lends what it has taken, until {@link #endLoan}. */
  synchronized void lend(long bytes) {
    lentBytes += bytes;
  }

  /** It does so no longer. */
  synchronized void endLoan(long bytes) {
    lentBytes -= bytes;
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
