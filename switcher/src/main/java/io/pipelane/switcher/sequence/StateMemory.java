package io.pipelane.switcher.sequence;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.Reservations;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/**
 * What the states of one class of sequences are charged to: working memory, and host memory while
 * they are written out. Safe for any thread.
 */
final class StateMemory {
  private final Reservations working;
  private final HostStates host;
  private final BooleanSupplier writeOut;
  private final Runnable makeRoom;

  /**
   * Nothing is charged yet.
   *
   * @param writeOut has a state written out that nobody needs now; false when there is none
   * @param makeRoom has other memory given back that nobody uses now, for who asks again
   */
  StateMemory(Reservations working, HostStates host, BooleanSupplier writeOut, Runnable makeRoom) {
    this.working = working;
    this.host = host;
    this.writeOut = writeOut;
    this.makeRoom = makeRoom;
  }

  /**
   * Charges the working memory, for which others are written out. Called under no lock.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when there is no room
   */
  void reserve(long bytes) {
    if (!tryReserve(bytes)) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "a sequence's state of %s does not fit device.working-memory at present, or what offline work may hold of that (sharing.offline-memory-percent); end sequences, or raise them or host-tier.states"
              .formatted(new ByteSize(bytes)));
    }
  }

  private boolean tryReserve(long bytes) {
    while (!working.tryReservePersistent(bytes)) {
      if (!writeOut.getAsBoolean()) {
        makeRoom.run();
        return false;
      }
    }
    return true;
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

  /**
   * The other way round.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when there is no room; nothing is changed
   */
  void bringBack(long bytes) {
    if (!tryReserve(bytes)) {
      throw StatusException.unavailable(
          "the sequence's state of %s waits in host memory, and device.working-memory is in use; try again"
              .formatted(new ByteSize(bytes)),
          Duration.ofSeconds(1));
    }
    releaseWrittenOut(bytes);
  }

  /** Gives back what lies on the host. */
  void releaseWrittenOut(long bytes) {
    host.giveBack(bytes);
  }
}
