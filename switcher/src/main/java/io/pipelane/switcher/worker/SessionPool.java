package io.pipelane.switcher.worker;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.PersistentMemory.Account;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.Structure;
import io.pipelane.switcher.memory.StructureRange;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The pool that builds the session that a run needs when there is none, charged to the working
 * memory. Safe for any platform thread; one thread builds a session, the others wait for it.
 */
final class SessionPool {
  /** What captures may add to a session's constants; charged when the run that adds it is over. */
  private static final long CAPTURE_BYTES = 16L << 20;

  private final SessionTable table;
  private final SessionFactory factory;
  private final PersistentMemory persistent;
  private final LongSupplier nanoClock;

  SessionPool(
      SessionTable table,
      SessionFactory factory,
      PersistentMemory persistent,
      LongSupplier nanoClock) {
    this.table = table;
    this.factory = factory;
    this.persistent = persistent;
    this.nanoClock = nanoClock;
  }

  /**
   * Takes the session for a range and a lane, building it when there is none; to be given back.
   *
   * @param lane the calling thread's lane; null outside of one, for sessions bound to none
   * @param priority of what it is taken for
   * @throws NoSessionRoomException when it has to be built and there is no room now
   * @throws StatusException when ONNX Runtime refuses the model; nothing is left then
   */
  PooledSession take(
      ImportedModel model,
      StructureRange range,
      @Nullable EphemeralRegion lane,
      Priority priority) {
    @Nullable EphemeralRegion seat = factory.boundToLane() ? Objects.requireNonNull(lane) : null;
    PooledSession session = table.take(new PooledSession.Key(range, seat));
    if (!session.isBuilt()) {
      buildOrAbandon(model, session, priority, table::recharge);
    }
    return session;
  }

  /**
   * Builds a session that nobody has asked for, in memory that is free; nothing happens where there
   * is one, or soon will be.
   *
   * @param lane as for {@link #take}
   * @param priority of what it is for
   * @throws NoSessionRoomException when others would have to give way
   * @throws StatusException when ONNX Runtime refuses the model; nothing is left then
   */
  void buildAhead(
      ImportedModel model,
      StructureRange range,
      @Nullable EphemeralRegion lane,
      Priority priority) {
    @Nullable PooledSession session = table.begin(new PooledSession.Key(range, lane));
    if (session != null) {
      buildOrAbandon(model, session, priority, table::rechargeFromFree);
      table.giveBack(session, false);
    }
  }

  /**
   * Takes a session for a run that nobody has asked for; to be given back by {@link
   * #giveBackReady}. Null where none is built.
   */
  @Nullable PooledSession takeReady(StructureRange range, EphemeralRegion lane) {
    return table.takeReady(new PooledSession.Key(range, lane));
  }

  /**
   * Takes the session for a range, of a factory whose sessions are bound to no lane, without
   * waiting; to be given back. Null where it is not built.
   */
  @Nullable PooledSession takeBuilt(StructureRange range) {
    return table.takeBuilt(new PooledSession.Key(range, null));
  }

  private void buildOrAbandon(
      ImportedModel model, PooledSession session, Priority priority, Charging charging) {
    boolean done = false;
    try {
      build(model, session, priority, charging);
      done = true;
    } finally {
      if (!done) {
        table.abandon(session);
      }
    }
  }

  /** The way to change what is reserved for a session; false where that cannot be. */
  @FunctionalInterface
  private interface Charging {
    boolean recharge(PooledSession session, long bytes);
  }

  /** Ends a run in a session; what the run added to it is charged, or the session has to go. */
  void giveBack(PooledSession session) {
    boolean mayGrow = factory.boundToLane(); // Others share it, and keep to their account.
    table.giveBack(session, mayGrow && !charge(session, table::recharge));
  }

  /** The same where nobody gives way to what the run has added. */
  void giveBackReady(PooledSession session) {
    table.giveBack(session, !charge(session, table::rechargeFromFree));
  }

  /** A session that has grown beyond what can be had is asked to do with less. */
  private boolean charge(PooledSession session, Charging charging) {
    if (charging.recharge(session, session.deviceBytes())) {
      return true;
    }
    session.shrink();
    long bytes = session.deviceBytes();
    table.budgets().of(session.key.range().structure()).observed(bytes);
    return charging.recharge(session, bytes);
  }

  private void build(
      ImportedModel model, PooledSession session, Priority priority, Charging charging) {
    Structure structure = session.key.range().structure();
    reserve(structure, session, charging);
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
              new MemoryTarget.Persistent(account),
              priority);
      long nanos = nanoClock.getAsLong() - begin;
      account.limit(account.usedBytes() + (factory.boundToLane() ? CAPTURE_BYTES : 0));
      long bytes = account.usedBytes() + made.frameworkBytes();
      table.budgets().of(structure).observed(bytes);
      if (!charging.recharge(session, bytes)) {
        throw new NoSessionRoomException(owner, table.budgets().expectedBytes(structure));
      }
      table.built(session, made, account, nanos);
      done = true;
    } catch (OutOfDeviceMemoryException e) {
      long larger = session.bytes + Math.max(session.bytes, e.refusedBytes());
      table.budgets().of(structure).guessed(larger, nanoClock.getAsLong());
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
  private void reserve(Structure structure, PooledSession session, Charging charging) {
    session.bytes = table.budgets().of(structure).takeGrant();
    long bytes = Math.max(session.bytes, table.budgets().expectedBytes(structure));
    if (!charging.recharge(session, bytes)) {
      throw new NoSessionRoomException("session of " + structure.hash(), bytes);
    }
  }
}
