package io.pipelane.switcher.working;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.execution.LaneLease;
import io.pipelane.lanes.execution.Reservations;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * The working memory that offline work may hold: the lanes of its runs, and what sequences keep
 * between steps (MuxFlow §4.1, workload level). Safe for any platform thread.
 */
public final class OfflineWorkingMemory implements Reservations {
  /*
   * A run waits while another one's lane has what it needs, because that lane's run ends, or else
   * is known to be stuck: then nobody waits for it. State may stay as long as its sequence, so
   * nobody waits for it. It is written out, and what does not fit beside the rest is refused.
   *
   * Lock order: sequences', this one, then the lanes'. States are written out under none.
   */
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition left = lock.newCondition();
  private final Reservations lanes;
  private final long capacityBytes;
  private final long ofBytes;
  private final BooleanSupplier writeStateOut;

  /** The turns of runs that wait; nobody is passed. */
  private final Deque<Long> waiting = new ArrayDeque<>();

  private long turns;
  private long laneBytes;
  private long stuckBytes; // Of those of lanes.
  private long stateBytes;

  /** The memory of one run; guarded by the lock. */
  private static final class Held {
    long bytes;
    boolean stuck;

    Held(long bytes) {
      this.bytes = bytes;
    }
  }

  /**
   * Nothing is held yet.
   *
   * @param lanes where state is reserved
   * @param capacityBytes what may be held
   * @param ofBytes all working memory
   * @param writeStateOut has the state of an offline sequence give its memory up; false when none
   *     does
   */
  public OfflineWorkingMemory(
      Reservations lanes, long capacityBytes, long ofBytes, BooleanSupplier writeStateOut) {
    this.lanes = lanes;
    this.capacityBytes = capacityBytes;
    this.ofBytes = ofBytes;
    this.writeStateOut = writeStateOut;
  }

  /**
   * Enters a lane for an offline run, which counts until it is left.
   *
   * @param bytes what the run is known to need
   * @param ownStateBytes of a state that this is charged with, and that it cannot run without
   * @param beforeWaiting called, perhaps several times, before the caller waits; under the lock
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when offline work may never hold so
   *     much; {@link Status#UNAVAILABLE} when states that are in use leave too little now, or runs
   *     whose processes do not end
   */
  public LaneLease enter(
      long bytes, long ownStateBytes, Runnable beforeWaiting, Supplier<LaneLease> lane) {
    if (bytes > capacityBytes - ownStateBytes) {
      throw tooLarge(bytes, ownStateBytes);
    }
    while (!await(bytes, beforeWaiting)) {
      if (!writeStateOut.getAsBoolean()) {
        throw StatusException.unavailable(
            "offline sequences under way hold what an offline run of %s needs; try again"
                .formatted(new ByteSize(bytes)));
      }
    }
    Held held = new Held(bytes);
    boolean entered = false;
    try {
      LaneLease lease = lane.get();
      entered = true;
      return lease.within(
          more -> tryHold(held, lease.region().peakBytes() + more),
          _ -> stuck(held),
          () -> leave(held));
    } finally {
      if (!entered) {
        leave(held);
      }
    }
  }

  /**
   * Waits for other offline runs to end, behind those that wait already; false where what states
   * hold leaves no room.
   */
  private boolean await(long bytes, Runnable beforeWaiting) {
    lock.lock();
    long turn = turns++;
    waiting.add(turn);
    try {
      while (waiting.getFirst() != turn || isHeld(bytes)) {
        beforeWaiting.run();
        left.awaitUninterruptibly();
      }
      boolean fits = stateBytes + bytes <= capacityBytes;
      laneBytes += fits ? bytes : 0;
      return fits;
    } finally {
      waiting.remove(turn);
      left.signalAll();
      lock.unlock();
    }
  }

  /** Whether runs have so much that will end; under the lock. */
  private boolean isHeld(long bytes) {
    boolean held = laneBytes > 0 && laneBytes + stateBytes + bytes > capacityBytes;
    if (held && laneBytes == stuckBytes) {
      throw StatusException.unavailable(
          "offline runs whose worker processes do not end hold what one of %s needs; try again"
              .formatted(new ByteSize(bytes)));
    }
    return held;
  }

  private StatusException tooLarge(long bytes, long ownStateBytes) {
    return new StatusException(
        Status.INSUFFICIENT_MEMORY,
        "an offline run needs %s of run-time memory%s; all offline work together may hold %s (sharing.offline-memory-percent of device.working-memory, %s): raise one of them, or ask online"
            .formatted(
                new ByteSize(bytes),
                ownStateBytes == 0
                    ? ""
                    : " beside its sequence's state, " + new ByteSize(ownStateBytes),
                new ByteSize(capacityBytes),
                new ByteSize(ofBytes)));
  }

  private boolean tryHold(Held held, long bytes) {
    lock.lock();
    try {
      long more = Math.max(0, bytes - held.bytes);
      boolean fits = more == 0 || laneBytes + stateBytes + more <= capacityBytes;
      held.bytes += fits ? more : 0;
      laneBytes += fits ? more : 0;
      return fits;
    } finally {
      lock.unlock();
    }
  }

  private void stuck(Held held) {
    lock.lock();
    try {
      held.stuck = true;
      stuckBytes += held.bytes;
      left.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void leave(Held held) {
    lock.lock();
    try {
      laneBytes -= held.bytes;
      stuckBytes -= held.stuck ? held.bytes : 0;
      left.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** {@inheritDoc} For the state of an offline sequence. */
  @Override
  public boolean tryReservePersistent(long bytes) {
    lock.lock();
    try {
      boolean fits = hasShareFor(bytes) && lanes.tryReservePersistent(bytes);
      stateBytes += fits ? bytes : 0;
      return fits;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public long mostBeside(long ownBytes) {
    return Math.min(lanes.mostBeside(ownBytes), capacityBytes - ownBytes);
  }

  /** Whether offline work may hold so much more now, be it free or not. */
  public boolean hasShareFor(long bytes) {
    lock.lock();
    try {
      return laneBytes + stateBytes + bytes <= capacityBytes;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void releasePersistent(long bytes) {
    lanes.releasePersistent(bytes);
    lock.lock();
    try {
      stateBytes -= bytes;
      left.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** What it may hold. */
  long capacityBytes() {
    return capacityBytes;
  }

  /** What offline work holds now. */
  public long heldBytes() {
    lock.lock();
    try {
      return laneBytes + stateBytes;
    } finally {
      lock.unlock();
    }
  }
}
