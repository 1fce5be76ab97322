package io.pipelane.switcher.worker;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.PersistentMemory.Account;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.memory.Structure;
import io.pipelane.switcher.memory.StructureRange;
import io.pipelane.switcher.memory.Usage;
import io.pipelane.switcher.worker.Worker.SessionRoom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of all structures: built when a run needs one, charged to the working memory, and
 * closed again when others need the room and nothing runs in them. Safe for any platform thread.
 */
final class SessionPool {
  /*
   * The lock guards everything but the making of sessions; nothing blocks under it but the wait for
   * its own condition. Lock order: pool, then lanes; Lanes never calls the pool.
   *
   * Every session's bytes are reserved with Lanes from before it is built until after it is closed,
   * so the safety condition covers them. Inside a lane nobody waits for room, as those that hold it
   * may be waiting for the same: who finds none leaves its lane and calls makeRoom, which waits and
   * grants the room to the structure. One thread at a time does so (the gate); what it waits for is
   * runs under way, and these never wait for it.
   */
  private static final Duration USAGE_HALF_LIFE = Duration.ofMinutes(1);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final ReentrantLock gate = new ReentrantLock(true);
  private final Map<PooledSession.Key, PooledSession> sessions = new HashMap<>();
  private final Map<Structure, SessionBudget> budgets = new HashMap<>();
  private final SessionFactory factory;
  private final PersistentMemory persistent;
  private final Lanes lanes;
  private final LongSupplier nanoClock;
  private int closing;
  private long changes;
  private long built;
  private long evicted;

  SessionPool(
      SessionFactory factory, PersistentMemory persistent, Lanes lanes, LongSupplier nanoClock) {
    this.factory = factory;
    this.persistent = persistent;
    this.lanes = lanes;
    this.nanoClock = nanoClock;
  }

  /** Counts a model among the variants of its structure. */
  void join(ImportedModel model, Structure structure) {
    lock.lock();
    try {
      budgets.computeIfAbsent(structure, key -> new SessionBudget(model)).variants++;
    } finally {
      lock.unlock();
    }
  }

  /** Lets a variant go; with the last one go the sessions, in none of which anything runs. */
  void leave(Structure structure) {
    List<PooledSession> orphans = new ArrayList<>();
    lock.lock();
    try {
      SessionBudget budget = budget(structure);
      budget.variants--;
      if (budget.variants > 0) {
        return;
      }
      while (sessionsOf(structure).stream().anyMatch(session -> session.runs > 0)) {
        changed.awaitUninterruptibly();
      }
      if (budget.variants == 0) {
        orphans.addAll(sessionsOf(structure));
        orphans.forEach(this::remove);
        budgets.remove(structure);
      }
    } finally {
      lock.unlock();
    }
    orphans.forEach(this::close);
  }

  /** The lanes that a structure's sessions are bound to. */
  Set<EphemeralRegion> lanesOf(StructureRange range) {
    if (!factory.boundToLane()) {
      return Set.of();
    }
    Set<EphemeralRegion> found = new HashSet<>();
    lock.lock();
    try {
      for (PooledSession.Key key : sessions.keySet()) {
        if (key.range() == range && key.lane() != null) {
          found.add(key.lane());
        }
      }
    } finally {
      lock.unlock();
    }
    return found;
  }

  /**
   * Takes the session for a range and a lane, building it when there is none; to be given back.
   *
   * @param lane the calling thread's lane; null outside of one, for sessions bound to none
   * @throws NoSessionRoomException when it has to be built and there is no room now
   * @throws StatusException when ONNX Runtime refuses the model; nothing is left then
   */
  PooledSession take(ImportedModel model, StructureRange range, @Nullable EphemeralRegion lane) {
    PooledSession.Key key = new PooledSession.Key(range, factory.boundToLane() ? Objects.requireNonNull(lane) : null);
    PooledSession session;
    lock.lock();
    try {
      PooledSession found = sessions.get(key);
      while (found != null && !found.isBuilt()) {
        changed.awaitUninterruptibly();
        found = sessions.get(key);
      }
      long now = nanoClock.getAsLong();
      if (found != null) {
        found.runs++;
        found.usage.used(now);
        return found;
      }
      session = new PooledSession(key, new Usage(USAGE_HALF_LIFE, now));
      session.usage.used(now);
      sessions.put(key, session);
    } finally {
      lock.unlock();
    }
    boolean done = false;
    try {
      build(model, session);
      done = true;
      return session;
    } finally {
      if (!done) {
        abandon(session);
      }
    }
  }

  /** Ends a run in a session; what the run added to it is charged, or the session has to go. */
  void giveBack(PooledSession session) {
    boolean tooLarge = factory.boundToLane() && !recharge(session, session.deviceBytes());
    lock.lock();
    try {
      session.runs--;
      if (tooLarge) {
        retire(session);
      }
      signal();
    } finally {
      lock.unlock();
    }
    if (tooLarge) {
      close(session);
    }
  }

  /**
   * Waits until there is room for one more session of a structure, and for a lane beside it, and
   * reserves the session's. Called outside of lanes.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when there never can be
   */
  SessionRoom makeRoom(Structure structure, long laneBytes) {
    gate.lock();
    boolean granted = false;
    try {
      long bytes = expectedBytes(structure);
      granted = reserveWaiting(bytes);
      if (!granted) {
        throw tooLarge(structure, bytes, laneBytes);
      }
      grant(structure, bytes);
      SessionRoom room = new Room(structure);
      if (!makeLaneRoom(laneBytes)) {
        room.close();
        throw tooLarge(structure, bytes, laneBytes);
      }
      return room;
    } finally {
      if (!granted) {
        leaveGate();
      }
    }
  }

  private boolean reserveWaiting(long bytes) {
    boolean possible = bytes <= lanes.capacityBytes();
    while (possible && !lanes.reservePersistent(bytes)) {
      possible = evictOrWait();
    }
    return possible;
  }

  private void grant(Structure structure, long bytes) {
    lock.lock();
    try {
      budget(structure).grantedBytes = bytes;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Closes idle sessions, and waits for those in use, until a lane of so many bytes could be had.
   * Called outside of lanes.
   *
   * @return false when it never can
   */
  boolean makeLaneRoom(long bytes) {
    while (lanes.largestLaneBytes() < bytes) {
      if (bytes > lanes.capacityBytes() || !evictOrWait()) {
        return lanes.largestLaneBytes() >= bytes;
      }
    }
    return true;
  }

  /** Sessions by structure. */
  SessionOverview overview() {
    lock.lock();
    try {
      List<SessionOverview.Entry> entries = new ArrayList<>();
      budgets.forEach(
          (structure, budget) -> {
            List<PooledSession> held = sessionsOf(structure);
            entries.add(
                new SessionOverview.Entry(
                    structure.hash(),
                    budget.variants,
                    held.size(),
                    held.stream().mapToLong(session -> session.bytes).sum(),
                    held.stream().mapToLong(session -> session.buildNanos).max().orElse(0) / 1e6));
          });
      entries.sort(Comparator.comparing(SessionOverview.Entry::structure));
      return new SessionOverview(entries, built, evicted);
    } finally {
      lock.unlock();
    }
  }

  private void build(ImportedModel model, PooledSession session) {
    Structure structure = session.key.range().structure();
    reserve(structure, session);
    String owner = "session of " + structure.hash();
    Account account = persistent.open(owner, session.bytes);
    @Nullable ModelSession made = null;
    boolean done = false;
    try {
      long begin = nanoClock.getAsLong();
      made =
          factory.gated(
              model,
              session.key.range().address(),
              session.key.lane(),
              new MemoryTarget.Persistent(account));
      long nanos = nanoClock.getAsLong() - begin;
      account.limit(account.usedBytes());
      if (!recharge(session, Math.max(account.usedBytes(), made.deviceBytes()))) {
        throw new NoSessionRoomException(owner, expectedBytes(structure));
      }
      lock.lock();
      try {
        session.built(made, account, nanos);
        built++;
        signal();
      } finally {
        lock.unlock();
      }
      done = true;
    } catch (OutOfDeviceMemoryException e) {
      long larger = session.bytes + Math.max(session.bytes, e.refusedBytes());
      expect(structure, larger);
      throw new NoSessionRoomException(owner, larger);
    } finally {
      if (!done) {
        if (made != null) {
          made.close();
        }
        account.close();
      }
    }
  }

  /** Uses the room granted to the structure, or finds some. */
  private void reserve(Structure structure, PooledSession session) {
    long bytes;
    lock.lock();
    try {
      SessionBudget budget = budget(structure);
      session.bytes = budget.grantedBytes;
      budget.grantedBytes = 0;
      bytes = budget.expectedBytes();
    } finally {
      lock.unlock();
    }
    if (!recharge(session, Math.max(session.bytes, bytes))) {
      throw new NoSessionRoomException("session of " + structure.hash(), bytes);
    }
  }

  /** Changes what is reserved for a session, evicting others; by the one thread that uses it. */
  private boolean recharge(PooledSession session, long bytes) {
    long more = bytes - session.bytes;
    if (more > 0) {
      expect(session.key.range().structure(), bytes);
      while (!lanes.tryReservePersistent(more)) {
        if (lanes.freeBytes() + idleBytes() < more || !evict()) {
          return false;
        }
      }
    } else if (more < 0) {
      lanes.releasePersistent(-more);
    }
    lock.lock();
    try {
      session.bytes = bytes;
      signal();
    } finally {
      lock.unlock();
    }
    return true;
  }

  private void expect(Structure structure, long bytes) {
    lock.lock();
    try {
      budget(structure).observed(bytes);
    } finally {
      lock.unlock();
    }
  }

  private long expectedBytes(Structure structure) {
    lock.lock();
    try {
      return budget(structure).expectedBytes();
    } finally {
      lock.unlock();
    }
  }

  /** Undoes {@link #take} where nothing was built. */
  private void abandon(PooledSession session) {
    lanes.releasePersistent(session.bytes);
    lock.lock();
    try {
      sessions.remove(session.key);
      signal();
    } finally {
      lock.unlock();
    }
  }

  /** Closes the idle session of least value; false when there is none. */
  private boolean evict() {
    PooledSession victim;
    lock.lock();
    try {
      long now = nanoClock.getAsLong();
      Optional<PooledSession> cheapest =
          sessions.values().stream()
              .filter(PooledSession::canGo)
              .min(Comparator.comparingDouble(session -> session.value(now)));
      if (cheapest.isEmpty()) {
        return false;
      }
      victim = cheapest.get();
      retire(victim);
    } finally {
      lock.unlock();
    }
    close(victim);
    return true;
  }

  /** Whether another range's sessions, one for each lane that has one now, would fit as it is. */
  boolean hasRoomForRange(Structure structure) {
    lock.lock();
    try {
      SessionBudget budget = budgets.get(structure);
      if (budget == null) {
        return false;
      }
      long lanesUsed = sessionsOf(structure).stream().map(s -> s.key.lane()).distinct().count();
      return lanes.freeBytes() >= lanesUsed * budget.expectedBytes();
    } finally {
      lock.unlock();
    }
  }

  private long idleBytes() {
    lock.lock();
    try {
      return sessions.values().stream()
          .filter(PooledSession::canGo)
          .mapToLong(session -> session.bytes)
          .sum();
    } finally {
      lock.unlock();
    }
  }

  /** Closes a session, or waits for one to become idle; false when none is left or in use. */
  private boolean evictOrWait() {
    if (evict()) {
      return true;
    }
    lock.lock();
    try {
      boolean inUse = sessions.values().stream().anyMatch(session -> session.runs > 0);
      boolean roomTaken = gate.isLocked() && !gate.isHeldByCurrentThread();
      boolean canGo = sessions.values().stream().anyMatch(PooledSession::canGo);
      long seen = changes;
      while (!canGo && (closing > 0 || inUse || roomTaken) && changes == seen) {
        changed.awaitUninterruptibly();
      }
      return canGo || changes != seen;
    } finally {
      lock.unlock();
    }
  }

  private void signal() {
    changes++;
    changed.signalAll();
  }

  private void retire(PooledSession session) {
    evicted++;
    remove(session);
  }

  /** Takes a session out of the pool; its room is free once it is closed. */
  private void remove(PooledSession session) {
    sessions.remove(session.key);
    closing++;
  }

  private void close(PooledSession session) {
    try {
      session.close();
    } finally {
      lanes.releasePersistent(session.bytes);
      lock.lock();
      try {
        closing--;
        signal();
      } finally {
        lock.unlock();
      }
    }
  }

  private void leaveGate() {
    gate.unlock();
    lock.lock();
    try {
      signal();
    } finally {
      lock.unlock();
    }
  }

  private SessionBudget budget(Structure structure) {
    return Objects.requireNonNull(budgets.get(structure), "no variant of the structure is here");
  }

  private List<PooledSession> sessionsOf(Structure structure) {
    return sessions.values().stream()
        .filter(session -> session.key.range().structure() == structure)
        .toList();
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
      long unused;
      lock.lock();
      try {
        SessionBudget budget = budget(structure);
        unused = budget.grantedBytes;
        budget.grantedBytes = 0;
      } finally {
        lock.unlock();
      }
      lanes.releasePersistent(unused);
      leaveGate();
    }
  }
}
