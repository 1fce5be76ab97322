package io.pipelane.switcher;

import io.pipelane.lanes.execution.Reservations;
import java.util.concurrent.atomic.AtomicLong;

/** Working memory of a fixed size that nobody gives way in. Safe for any thread. */
public final class BoundedReservations implements Reservations {
  private final long bytes;
  private final AtomicLong free;

  /** All of it is free. */
  public BoundedReservations(long bytes) {
    this.bytes = bytes;
    this.free = new AtomicLong(bytes);
  }

  @Override
  public boolean tryReservePersistent(long bytes) {
    if (free.addAndGet(-bytes) >= 0) {
      return true;
    }
    free.addAndGet(bytes);
    return false;
  }

  @Override
  public long mostBeside(long ownBytes) {
    return bytes - ownBytes;
  }

  @Override
  public void releasePersistent(long bytes) {
    free.addAndGet(bytes);
  }

  /** What nobody has reserved. */
  public long freeBytes() {
    return free.get();
  }
}
