package io.pipelane.switcher.sequence;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.Reservations;
import java.util.function.BooleanSupplier;

/**
 * What the states of one class of sequences are charged to: working memory, and host memory while
 * they are written out. Safe for any thread.
 */
final class StateMemory {
  private final Reservations working;
  private final HostStates host;
  private final BooleanSupplier writeOut;

  /**
   * Nothing is charged yet.
   *
   * @param writeOut has a state written out that nobody needs now; false when there is none
   */
  StateMemory(Reservations working, HostStates host, BooleanSupplier writeOut) {
    this.working = working;
    this.host = host;
    this.writeOut = writeOut;
  }

  /**
   * Charges the working memory, for which others are written out. Called under no lock.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when there is no room
   */
  void reserve(long bytes) {
    while (!working.tryReservePersistent(bytes)) {
      if (!writeOut.getAsBoolean()) {
        throw new StatusException(
            Status.INSUFFICIENT_MEMORY,
            "a sequence's state of %s does not fit device.working-memory at present, or what offline work may hold of that (sharing.offline-memory-percent); end sequences, or raise them or host-tier.states"
                .formatted(new ByteSize(bytes)));
      }
    }
  }

  /** Gives back what {@link #reserve} has charged. */
  void release(long bytes) {
    working.releasePersistent(bytes);
  }

  /** Charges the host instead of the working memory; false when that has no room. */
  boolean tryWriteOut(long bytes) {
    if (!host.tryTake(bytes)) {
      return false;
    }
    working.releasePersistent(bytes);
    return true;
  }

  /** The other way round; nothing is changed when it throws what {@link #reserve} throws. */
  void bringBack(long bytes) {
    reserve(bytes);
    releaseWrittenOut(bytes);
  }

  /** Gives back what lies on the host. */
  void releaseWrittenOut(long bytes) {
    host.giveBack(bytes);
  }
}
