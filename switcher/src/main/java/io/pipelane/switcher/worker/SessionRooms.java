package io.pipelane.switcher.worker;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.Structure;
import io.pipelane.switcher.worker.Worker.SessionRoom;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/** Makes room in working memory for sessions and lanes, waiting where it must. */
final class SessionRooms {
  /*
   * Inside a lane nobody waits for room, as those that hold it may be waiting for the same: who
   * finds none leaves its lane and comes here, where the room is granted to the structure. One
   * thread at a time does so (the gate, held as long as the room); what it waits for is runs under
   * way, and these never wait for it.
   */
  private final ReentrantLock gate = new ReentrantLock(true);
  private final SessionTable table;
  private final Lanes lanes;
  private final BooleanSupplier giveIdleBack;
  private final Predicate<Priority> writeOut;

  /**
   * Nothing is granted yet.
   *
   * @param giveIdleBack gives memory up that nothing lies in, which costs least; false when there
   *     is none
   * @param writeOut has something idle leave the working memory in favour of a class; false when
   *     there is nothing
   */
  SessionRooms(
      SessionTable table, Lanes lanes, BooleanSupplier giveIdleBack, Predicate<Priority> writeOut) {
    this.table = table;
    this.lanes = lanes;
    this.giveIdleBack = giveIdleBack;
    this.writeOut = writeOut;
  }

  /**
   * Waits until there is room for one more session of a structure, and for a lane beside it, and
   * reserves the session's. Called outside of lanes.
   *
   * @param inFavourOf whose lane it will be; sessions are everybody's
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when there never can be, {@link
   *     Status#UNAVAILABLE} when an offline lane is to wait for online states to end
   */
  SessionRoom makeRoom(Structure structure, long laneBytes, Priority inFavourOf) {
    gate.lock();
    boolean granted = false;
    try {
      long bytes = table.expectedBytes(structure);
      granted = reserve(bytes);
      if (!granted) {
        throw tooLarge(structure, bytes, laneBytes);
      }
      table.grant(structure, bytes);
      SessionRoom room = new Room(structure);
      if (!makeLaneRoom(laneBytes, inFavourOf, () -> {})) {
        room.close();
        throw inFavourOf == Priority.OFFLINE && bytes + laneBytes <= lanes.capacityBytes()
            ? heldByOnlineStates(laneBytes)
            : tooLarge(structure, bytes, laneBytes);
      }
      return room;
    } finally {
      if (!granted) {
        leaveGate();
      }
    }
  }

  private boolean reserve(long bytes) {
    boolean possible = bytes <= lanes.capacityBytes();
    while (possible && !lanes.reservePersistent(bytes)) {
      // What was in the way may have gone in between.
      possible = evictOrWait(Priority.ONLINE, () -> {}) || bytes <= lanes.largestLaneBytes();
    }
    return possible;
  }

  /**
   * Gives idle memory up, closes idle sessions, writes idle states out, and waits for those in use,
   * until a lane of so many bytes could be had. Called outside of lanes.
   *
   * @param beforeWaiting called before it waits
   * @return false when it never can
   */
  boolean makeLaneRoom(long bytes, Priority inFavourOf, Runnable beforeWaiting) {
    while (lanes.largestLaneBytes() < bytes) {
      if (bytes > lanes.capacityBytes() || !evictOrWait(inFavourOf, beforeWaiting)) {
        return lanes.largestLaneBytes() >= bytes;
      }
    }
    return true;
  }

  /**
   * Gives idle memory up, closes a session, writes a state out, or waits for one; false when none
   * is left or in use.
   */
  private boolean evictOrWait(Priority inFavourOf, Runnable beforeWaiting) {
    if (giveIdleBack.getAsBoolean() || table.evict() || writeOut.test(inFavourOf)) {
      return true;
    }
    beforeWaiting.run();
    return table.awaitChange(() -> gate.isLocked() && !gate.isHeldByCurrentThread());
  }

  private void leaveGate() {
    gate.unlock();
    table.changed();
  }

  private static StatusException heldByOnlineStates(long laneBytes) {
    return StatusException.unavailable(
        "online sequences hold what an offline run of %s needs; try again"
            .formatted(new ByteSize(laneBytes)),
        Duration.ofSeconds(1));
  }

  private StatusException tooLarge(Structure structure, long bytes, long laneBytes) {
    return new StatusException(
        Status.INSUFFICIENT_MEMORY,
        "a session of structure %s takes up to %s, and its run %s; device.working-memory is %s: raise it"
            .formatted(
                structure.hash(),
                new ByteSize(bytes),
                new ByteSize(laneBytes),
                new ByteSize(lanes.capacityBytes())));
  }

  /** Room for one session of a structure, used by the next that is built; belongs to a thread. */
  private final class Room implements SessionRoom {
    private final Structure structure;

    Room(Structure structure) {
      this.structure = structure;
    }

    @Override
    public void close() {
      lanes.releasePersistent(table.takeGrant(structure));
      leaveGate();
    }
  }
}
