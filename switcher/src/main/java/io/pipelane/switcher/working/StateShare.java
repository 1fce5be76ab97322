package io.pipelane.switcher.working;

import io.pipelane.lanes.execution.Reservations;

/**
 * The share of working memory that states of sequences may hold, and what they hold: the rest stays
 * for runs. Safe for any platform thread.
 */
public final class StateShare {
  /*
   * States stay as long as their sequences, so without a limit those of one client would leave no
   * other model a lane. A third is what a step's own lane needs at least beside two copies of its
   * state, if it borrows nothing: what it makes is as large as one of them. So a state that does not
   * fit beside the third could rarely have a step anyway. It is still let in where it is the only one.
   */
  private static final int PARTS = 3;

  private final long limitBytes;
  private long heldBytes;

  /**
   * Nothing is held yet.
   *
   * @param workingBytes all that there is for lanes, sessions and states
   */
  StateShare(long workingBytes) {
    this.limitBytes = workingBytes - workingBytes / PARTS;
  }

  /** Whether states may hold so much more now, be it free or not. */
  public boolean hasRoomFor(long bytes) {
    return hasRoomFor(bytes, 0);
  }

  /** The same once states have given so much of it back. */
  public synchronized boolean hasRoomFor(long bytes, long leavingBytes) {
    long staying = heldBytes - leavingBytes;
    return bytes == 0 || staying == 0 || bytes <= limitBytes - staying;
  }

  /** What all states hold now. */
  public synchronized long heldBytes() {
    return heldBytes;
  }

  private synchronized boolean tryHold(long bytes) {
    boolean has = hasRoomFor(bytes);
    heldBytes += has ? bytes : 0;
    return has;
  }

  private synchronized void letGo(long bytes) {
    heldBytes -= bytes;
  }

  /** Working memory for states, which counts here. */
  public Reservations of(Reservations working) {
    return new Reservations() {
      @Override
      public boolean tryReservePersistent(long bytes) {
        if (!tryHold(bytes)) {
          return false;
        }
        boolean reserved = false;
        try {
          reserved = working.tryReservePersistent(bytes);
          return reserved;
        } finally {
          if (!reserved) {
            letGo(bytes);
          }
        }
      }

      @Override
      public long mostBeside(long ownBytes) {
        long most = working.mostBeside(ownBytes);
        return ownBytes == 0 ? most : Math.min(most, limitBytes - ownBytes);
      }

      @Override
      public void releasePersistent(long bytes) {
        working.releasePersistent(bytes);
        letGo(bytes);
      }
    };
  }
}
