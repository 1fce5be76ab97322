package io.pipelane.switcher.worker;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.kept.KeptTensors;
import io.pipelane.switcher.memory.Structure;
import io.pipelane.switcher.worker.Worker.SessionRoom;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/** The way to make room in working memory for sessions and lanes, waiting where it must. */
final class SessionRooms {
  /*
   * Inside a lane nobody waits for room, as those that hold it may be waiting for the same. Who
   * finds none leaves its lane and comes here, where the room is granted to the structure. One
   * thread at a time does so, under the gate, which is held as long as the room. That thread waits
   * for runs under way, and these never wait for it.
   */
  private final ReentrantLock gate = new ReentrantLock(true);
  private final SessionTable table;
  private final Lanes lanes;
  private final KeptTensors kept;
  private final HeldBySequences states;

  /**
   * Who wants room.
   *
   * @param priority whose lane it will be; sessions are everybody's
   * @param stateBytes what states hold that it cannot run without, so that they do not leave for it
   */
  record Seeker(Priority priority, long stateBytes) {
    /** For a session alone. */
    static final Seeker OF_A_SESSION = new Seeker(Priority.ONLINE, 0);
  }

  /**
   * Nothing is granted yet.
   *
   * @param kept gives memory up that no tensor lies in, which costs least
   * @param states are written out while they are idle, or end
   */
  SessionRooms(SessionTable table, Lanes lanes, KeptTensors kept, HeldBySequences states) {
    this.table = table;
    this.lanes = lanes;
    this.kept = kept;
    this.states = states;
  }

  /**
   * Waits until there is room for one more session of a structure, and for a lane beside it, and
   * reserves the session's. Called outside of lanes.
   *
   * @param beforeWaiting called before it waits for what others have
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when there never can be, {@link
   *     Status#UNAVAILABLE} when what holds it will end, and is not waited for
   */
  SessionRoom makeRoom(Structure structure, long laneBytes, Seeker seeker, Runnable beforeWaiting) {
    if (gate.isLocked()) {
      beforeWaiting.run();
    }
    gate.lock();
    boolean granted = false;
    try {
      requireFits(structure);
      long bytes = table.budgets().expectedBytes(structure);
      granted = reserve(bytes, beforeWaiting);
      if (!granted) {
        throw heldForNow(bytes, seeker, "a session of structure " + structure.hash())
            .orElseGet(() -> tooLarge(bytes, laneBytes));
      }
      table.budgets().of(structure).grant(bytes);
      SessionRoom room = new Room(structure);
      if (!tryMakeLaneRoom(laneBytes, seeker.priority, beforeWaiting)) {
        room.close();
        String run = "a session of structure %s and its run".formatted(structure.hash());
        throw heldForNow(bytes + laneBytes, seeker, run)
            .orElseGet(() -> tooLarge(bytes, laneBytes));
      }
      return room;
    } finally {
      if (!granted) {
        leaveGate();
      }
    }
  }

  /**
   * Refuses a structure of which no session can ever be built.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY}
   */
  void requireFits(Structure structure) {
    long bytes = table.budgets().expectedBytes(structure);
    if (bytes > lanes.capacityBytes()) {
      throw tooLarge(bytes, 0);
    }
  }

  private boolean reserve(long bytes, Runnable beforeWaiting) {
    boolean possible = true;
    while (possible && !reserveOrWait(bytes, beforeWaiting)) {
      // What was in the way may have gone in between.
      possible = evictOrWait(Priority.ONLINE, beforeWaiting) || lanes.beyondOwnBytes(bytes) == 0;
    }
    return possible;
  }

  /** Waits for lanes that have what is lacking; false where sessions and states have it. */
  private boolean reserveOrWait(long bytes, Runnable beforeWaiting) {
    if (lanes.tryReservePersistent(bytes)) {
      return true;
    }
    beforeWaiting.run();
    return lanes.reservePersistent(bytes);
  }

  /**
   * Gives idle memory up, borrows of the weights that give way at once, closes idle sessions,
   * writes idle states out, and waits for those in use, until a run could have a lane of so many
   * bytes. Called outside of lanes.
   *
   * @param beforeWaiting called before it waits
   * @throws StatusException as {@link #makeRoom}
   */
  void makeLaneRoom(ModelVersion model, long bytes, Seeker seeker, Runnable beforeWaiting) {
    if (!tryMakeLaneRoom(bytes, seeker.priority, beforeWaiting)) {
      throw heldForNow(bytes, seeker, "a run of " + model).orElseGet(() -> tooLarge(model, bytes));
    }
  }

  private boolean tryMakeLaneRoom(long bytes, Priority inFavourOf, Runnable beforeWaiting) {
    while (lanes.largestLaneBytes() < bytes) {
      if (bytes > lanes.mostBytes()) {
        return false;
      }
      boolean more =
          kept.giveIdleBack()
              || lanes.borrowed().borrow(bytes)
              || evictOrWait(inFavourOf, beforeWaiting);
      if (!more) {
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
    long seen = table.changes();
    if (kept.giveIdleBack() || table.evict() || states.writeOut(inFavourOf)) {
      return true;
    }
    beforeWaiting.run();
    return table.awaitChange(seen, () -> gate.isLocked() && !gate.isHeldByCurrentThread());
  }

  private void leaveGate() {
    gate.unlock();
    table.changed();
  }

  /** What refuses a run for a time: who holds what it needs will give that back. */
  private Optional<StatusException> heldForNow(long bytes, Seeker seeker, String run) {
    long withoutTensors = lanes.largestLaneBytes() + kept.takenBytes();
    if (bytes <= withoutTensors) {
      return Optional.of(held("tensors between the steps of ensembles", run, bytes));
    }
    return bytes <= withoutTensors + states.bytes() - seeker.stateBytes
        ? Optional.of(held("states of sequences", run, bytes))
        : Optional.empty();
  }

  private static StatusException held(String holder, String run, long bytes) {
    return StatusException.unavailable(
        "%s hold what %s needs of device.working-memory, %s; try again"
            .formatted(holder, run, new ByteSize(bytes)));
  }

  private StatusException tooLarge(ModelVersion model, long bytes) {
    return new StatusException(
        Status.INSUFFICIENT_MEMORY,
        "model %s needs at least %s of run-time memory for these shapes; a lane can have at most %s of device.working-memory%s; raise that, or send smaller shapes"
            .formatted(
                model, new ByteSize(bytes), new ByteSize(lanes.largestLaneBytes()), beside()));
  }

  private String beside() {
    long borrowed = lanes.mostBytes() - lanes.capacityBytes();
    return borrowed == 0
        ? ""
        : " and what the weights of others give up of device.memory, " + new ByteSize(borrowed);
  }

  private StatusException tooLarge(long bytes, long laneBytes) {
    return new StatusException(
        Status.INSUFFICIENT_MEMORY,
        "a session of the model takes up to %s%s; device.working-memory is %s: raise it"
            .formatted(
                new ByteSize(bytes),
                laneBytes == 0
                    ? ""
                    : ", and its run %s beside it".formatted(new ByteSize(laneBytes)),
                new ByteSize(lanes.capacityBytes())));
  }

  /** Room for one session of a structure, used by the next that is built; belongs to a thread. */
  private final class Room implements SessionRoom {
    private final Structure structure;
    private boolean closed;

    Room(Structure structure) {
      this.structure = structure;
    }

    @Override
    public void close() {
      if (!closed) {
        closed = true;
        lanes.releasePersistent(table.budgets().of(structure).takeGrant());
        leaveGate();
      }
    }
  }
}
