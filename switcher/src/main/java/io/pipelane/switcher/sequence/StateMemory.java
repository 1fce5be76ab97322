package io.pipelane.switcher.sequence;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.Lanes;
import java.util.function.BooleanSupplier;

/**
 * What states are charged to: the device's working memory, and host memory while they are written
 * out. Safe for any thread.
 */
final class StateMemory {
  /* The monitor guards the figures; it is taken last but for the lanes' lock. */
  private final Lanes lanes;
  private final long hostBytes;
  private final BooleanSupplier writeOut;
  private long writtenOutBytes;
  private long timesWrittenOut;

  /**
   * Nothing is charged yet.
   *
   * @param hostBytes what may be written out at once
   * @param writeOut has a state written out that nobody needs now; false when there is none
   */
  StateMemory(Lanes lanes, long hostBytes, BooleanSupplier writeOut) {
    this.lanes = lanes;
    this.hostBytes = hostBytes;
    this.writeOut = writeOut;
  }

  /**
   * Charges the working memory, for which others are written out. Called under no lock.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when there is no room
   */
  void reserve(long bytes) {
    while (!lanes.tryReservePersistent(bytes)) {
      if (!writeOut.getAsBoolean()) {
        throw new StatusException(
            Status.INSUFFICIENT_MEMORY,
            "a sequence's state of %s does not fit device.working-memory at present; end sequences, or raise it or host-tier.states"
                .formatted(new ByteSize(bytes)));
      }
    }
  }

  /** Gives back what {@link #reserve} has charged. */
  void release(long bytes) {
    lanes.releasePersistent(bytes);
  }

  /** Charges the host instead of the working memory; false when that has no room. */
  synchronized boolean tryWriteOut(long bytes) {
    if (bytes > hostBytes - writtenOutBytes) {
      return false;
    }
    writtenOutBytes += bytes;
    timesWrittenOut++;
    lanes.releasePersistent(bytes);
    return true;
  }

  /** The other way round; nothing is changed when it throws what {@link #reserve} throws. */
  void bringBack(long bytes) {
    reserve(bytes);
    releaseWrittenOut(bytes);
  }

  /** Gives back what lies on the host. */
  synchronized void releaseWrittenOut(long bytes) {
    writtenOutBytes -= bytes;
  }

  /** Bytes that are written out at present. */
  synchronized long writtenOutBytes() {
    return writtenOutBytes;
  }

  /** How often a tensor was written out. */
  synchronized long timesWrittenOut() {
    return timesWrittenOut;
  }
}
