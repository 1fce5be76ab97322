package io.pipelane.switcher.worker;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory.Account;
import io.pipelane.lanes.Releases;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.memory.Structure;
import io.pipelane.switcher.memory.StructureRange;
import io.pipelane.switcher.residency.Usage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The table of sessions: which there are, what working memory is reserved for each, and who gives
 * way. Safe for any platform thread.
 */
final class SessionTable {
  /*
   * The lock guards everything here, variants included, but what budgets know. Under it nothing
   * blocks but the wait for its own condition. Lock order: memory daemon, table, lanes; none of
   * them calls back.
   *
   * Every session's bytes are reserved with Lanes from before it is built until after it is closed,
   * so the safety condition covers them. Sessions in use are never closed.
   */
  private static final Duration USAGE_HALF_LIFE = Duration.ofMinutes(1);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final PooledSessions sessions = new PooledSessions();
  private final Map<StructureRange, Integer> builtIn = new HashMap<>();
  private final SessionBudgets budgets;
  private final Lanes lanes;
  private final LongSupplier nanoClock;
  private final Set<PooledSession.Key> closing = new HashSet<>();
  private long changes;
  private long built;
  private long evicted;

  SessionTable(Lanes lanes, LongSupplier nanoClock) {
    this.lanes = lanes;
    this.nanoClock = nanoClock;
    this.budgets = new SessionBudgets(nanoClock);
  }

  /** What building sessions takes. */
  SessionBudgets budgets() {
    return budgets;
  }

  /** Counts a model among the variants of its structure. */
  void join(ImportedModel model, Structure structure) {
    lock.lock();
    try {
      budgets.join(model, structure).variants++;
    } finally {
      lock.unlock();
    }
  }

  /** Lets a variant go; with the last one go the sessions, in none of which anything runs. */
  void leave(Structure structure) {
    Releases orphans = new Releases();
    lock.lock();
    try {
      SessionBudget budget = budgets.of(structure);
      budget.variants--;
      if (budget.variants > 0) {
        return;
      }
      while (sessions.of(structure).stream().anyMatch(session -> session.runs > 0)) {
        changed.awaitUninterruptibly();
      }
      if (budget.variants == 0) {
        for (PooledSession orphan : sessions.of(structure)) {
          remove(orphan);
          orphans.add(orphan, this::close);
        }
        budgets.forget(structure, budget);
      }
    } finally {
      lock.unlock();
    }
    orphans.close();
  }

  /** The lanes that a range's sessions are bound to, those that are being built included. */
  Set<EphemeralRegion> lanesOf(StructureRange range) {
    return lanesOf(range, session -> true);
  }

  /** The same of those that are built. */
  Set<EphemeralRegion> readyLanesOf(StructureRange range) {
    return lanesOf(range, PooledSession::isBuilt);
  }

  private Set<EphemeralRegion> lanesOf(StructureRange range, Predicate<PooledSession> which) {
    Set<EphemeralRegion> found = new HashSet<>();
    lock.lock();
    try {
      for (PooledSession session : sessions.of(range.structure())) {
        @Nullable EphemeralRegion lane = session.key.lane();
        if (session.key.range() == range && lane != null && which.test(session)) {
          found.add(lane);
        }
      }
    } finally {
      lock.unlock();
    }
    return found;
  }

  /**
   * Takes a session for one run; waits for one that is being built or closed. Where there is none,
   * the caller has one to build, and ends that with {@link #built} or {@link #abandon}.
   */
  PooledSession take(PooledSession.Key key) {
    lock.lock();
    try {
      PooledSession taken = open(key);
      taken.usage.used(nanoClock.getAsLong());
      return taken;
    } finally {
      lock.unlock();
    }
  }

  /** Takes a session for one run where it is built, and null otherwise; waits for nothing. */
  @Nullable PooledSession takeBuilt(PooledSession.Key key) {
    lock.lock();
    try {
      @Nullable PooledSession taken = opened(key);
      if (taken != null) {
        taken.usage.used(nanoClock.getAsLong());
      }
      return taken;
    } finally {
      lock.unlock();
    }
  }

  /** The same for a run that nobody has asked for, which is no use of it. */
  @Nullable PooledSession takeReady(PooledSession.Key key) {
    lock.lock();
    try {
      @Nullable PooledSession taken = opened(key);
      if (taken != null) {
        taken.hasRunAhead = true;
      }
      return taken;
    } finally {
      lock.unlock();
    }
  }

  private @Nullable PooledSession opened(PooledSession.Key key) {
    @Nullable PooledSession found = sessions.get(key);
    if (found == null || !found.isBuilt()) {
      return null;
    }
    found.runs++;
    return found;
  }

  /** As {@link #take}, but for its being a use; under the lock. */
  private PooledSession open(PooledSession.Key key) {
    PooledSession found = sessions.get(key);
    while (closing.contains(key) || (found != null && !found.isBuilt())) {
      changed.awaitUninterruptibly();
      found = sessions.get(key);
    }
    if (found == null) {
      found = new PooledSession(key, new Usage(USAGE_HALF_LIFE, nanoClock.getAsLong()));
      sessions.add(found);
    }
    found.runs++;
    return found;
  }

  /**
   * Begins a session that nobody has asked for, which is no use of it: those that were asked for
   * stay rather than this one. Null where there is one, or soon will be.
   */
  @Nullable PooledSession begin(PooledSession.Key key) {
    lock.lock();
    try {
      return sessions.get(key) != null || closing.contains(key) ? null : open(key);
    } finally {
      lock.unlock();
    }
  }

  /** How many sessions of a range are built; at once. */
  int builtIn(StructureRange range) {
    lock.lock();
    try {
      return builtIn.getOrDefault(range, 0);
    } finally {
      lock.unlock();
    }
  }

  /** A session is built: others may use it as well. */
  void built(PooledSession session, ModelSession made, Account account, long nanos) {
    lock.lock();
    try {
      budgets.of(session.key.range().structure()).built(session.bytes, nanos);
      session.built(made, account, nanos);
      builtIn.merge(session.key.range(), 1, Integer::sum);
      built++;
      signal();
    } finally {
      lock.unlock();
    }
  }

  /** Nothing was built; what was reserved for it is free again. */
  void abandon(PooledSession session) {
    lanes.releasePersistent(session.bytes);
    lock.lock();
    try {
      sessions.remove(session);
      signal();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Ends a run.
   *
   * @param tooLarge whether the session has to go, with the caller as its last user
   */
  void giveBack(PooledSession session, boolean tooLarge) {
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
   * Changes what is reserved for a session, evicting others; by the one thread that uses it.
   *
   * @return false where there is not as much; nothing has changed then
   */
  boolean recharge(PooledSession session, long bytes) {
    long more = bytes - session.bytes;
    while (more > 0 && !lanes.tryReservePersistent(more)) {
      if (!evictTowards(more)) {
        return false;
      }
    }
    reserved(session, bytes);
    return true;
  }

  /** Closes the idle session of least value, if closing all of them would free so much. */
  private boolean evictTowards(long bytes) {
    return canFree(bytes) && evict();
  }

  /** Whether so many bytes are free, or would be with all idle sessions closed. */
  boolean canFree(long bytes) {
    return lanes.freeBytes() + idleBytes() >= bytes;
  }

  /** The same where nobody has to give way. */
  boolean rechargeFromFree(PooledSession session, long bytes) {
    long more = bytes - session.bytes;
    if (more > 0 && !lanes.tryReservePersistent(more)) {
      return false;
    }
    reserved(session, bytes);
    return true;
  }

  private void reserved(PooledSession session, long bytes) {
    if (bytes < session.bytes) {
      lanes.releasePersistent(session.bytes - bytes);
    }
    lock.lock();
    try {
      session.bytes = bytes;
      signal();
    } finally {
      lock.unlock();
    }
  }

  /** Closes the idle session of least value; false when there is none. */
  boolean evict() {
    return evict(IdleSessions::leastWorth);
  }

  /**
   * Closes one of those that nobody has asked for since they were built, in favour of so many
   * bytes; none where they are free already.
   *
   * @return false where closing all of them would not be enough; none is closed then
   */
  boolean evictUnused(long bytes) {
    return lanes.freeBytes() >= bytes
        || evict(idle -> idle.unasked().towards(bytes - lanes.freeBytes()));
  }

  /**
   * Closes idle sessions until so many bytes are free; none where closing all of them would not be
   * enough.
   */
  void evictIdle(long bytes) {
    boolean goesOn = true;
    while (goesOn && lanes.freeBytes() < bytes) {
      goesOn = evictTowards(bytes);
    }
  }

  private boolean evict(Function<IdleSessions, Optional<PooledSession>> choice) {
    PooledSession victim;
    lock.lock();
    try {
      Optional<PooledSession> chosen = choice.apply(idle());
      if (chosen.isEmpty()) {
        return false;
      }
      victim = chosen.get();
      retire(victim);
    } finally {
      lock.unlock();
    }
    close(victim);
    return true;
  }

  private IdleSessions idle() {
    return IdleSessions.of(sessions.all(), nanoClock.getAsLong());
  }

  /** Whether another range's sessions, one for each lane that has one now, would fit as it is. */
  boolean hasRoomForRange(Structure structure) {
    long free = lanes.freeBytes(); // Whose lock is held for longer than this one.
    lock.lock();
    try {
      if (!budgets.has(structure)) {
        return false;
      }
      long lanesUsed = sessions.of(structure).stream().map(s -> s.key.lane()).distinct().count();
      return free >= lanesUsed * budgets.expectedBytes(structure);
    } finally {
      lock.unlock();
    }
  }

  private long idleBytes() {
    lock.lock();
    try {
      return idle().bytes();
    } finally {
      lock.unlock();
    }
  }

  /** How often something has become free, for {@link #awaitChange}. */
  long changes() {
    lock.lock();
    try {
      return changes;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until something may have become free.
   *
   * @param seen what {@link #changes} was before the caller looked
   * @param others whether room is taken by somebody that this table does not know
   * @return false when nothing is in use, so that waiting is in vain
   */
  boolean awaitChange(long seen, BooleanSupplier others) {
    lock.lock();
    try {
      boolean canGo = sessions.all().stream().anyMatch(PooledSession::canGo);
      boolean inUse = sessions.all().stream().anyMatch(session -> session.runs > 0);
      boolean hope = !closing.isEmpty() || inUse || others.getAsBoolean();
      while (!canGo && hope && changes == seen) {
        changed.awaitUninterruptibly();
      }
      return canGo || hope || changes != seen;
    } finally {
      lock.unlock();
    }
  }

  /** Wakes those that wait for a change. */
  void changed() {
    lock.lock();
    try {
      signal();
    } finally {
      lock.unlock();
    }
  }

  /** Sessions by structure. */
  SessionOverview overview() {
    lock.lock();
    try {
      long now = nanoClock.getAsLong();
      List<SessionOverview.Entry> entries = new ArrayList<>();
      for (Structure structure : budgets.structures()) {
        entries.add(SessionOverview.Entry.of(structure, sessions.of(structure), now));
      }
      entries.sort(Comparator.comparing(SessionOverview.Entry::structure));
      return new SessionOverview(entries, built, evicted);
    } finally {
      lock.unlock();
    }
  }

  /** What the sessions of a structure tell of how they run. */
  List<String> notes(Structure structure) {
    lock.lock();
    try {
      return SessionNotes.of(
          sessions.of(structure).stream()
              .filter(PooledSession::isBuilt)
              .map(session -> session.session().notes())
              .toList());
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
    sessions.remove(session);
    builtIn.computeIfPresent(session.key.range(), (range, count) -> count > 1 ? count - 1 : null);
    closing.add(session.key);
  }

  private void close(PooledSession session) {
    try {
      session.close();
    } finally {
      lanes.releasePersistent(session.bytes);
      lock.lock();
      try {
        closing.remove(session.key);
        signal();
      } finally {
        lock.unlock();
      }
    }
  }
}
