package io.pipelane.switcher.sequence;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.DeviceStates.State;
import io.pipelane.lanes.execution.Reservations;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.StateHasNoRoom;
import java.util.function.LongConsumer;
import java.util.function.LongPredicate;

/**
 * The memory for the states of one class of sequences: working memory, and host memory while they
 * are written out. Safe for any thread.
 */
final class StateMemory {
  private final Priority of;
  private final DeviceStates device;
  private final Reservations working;
  private final HostStates host;
  private final LongPredicate giveUnasked;
  private final LongPredicate writeOut;
  private final LongPredicate exchange;
  private final LongConsumer makeRoom;

  /**
   * Nothing is charged yet.
   *
   * @param of the class
   * @param giveUnasked has other memory given back that nobody has asked for yet, in favour of so
   *     many bytes; false when that would not be enough. It may take its time
   * @param writeOut has a state written out that nobody needs now, in favour of so many bytes;
   *     false when there is none, or all that the host has room for would not be enough: nothing
   *     leaves in vain
   * @param exchange has the same be done in favour of what comes back, whatever the host holds
   * @param makeRoom has other memory given back that nobody uses now, in favour of so many bytes,
   *     for who asks again, if that would be enough
   */
  StateMemory(
      Priority of,
      DeviceStates device,
      Reservations working,
      HostStates host,
      LongPredicate giveUnasked,
      LongPredicate writeOut,
      LongPredicate exchange,
      LongConsumer makeRoom) {
    this.of = of;
    this.device = device;
    this.working = working;
    this.host = host;
    this.giveUnasked = giveUnasked;
    this.writeOut = writeOut;
    this.exchange = exchange;
    this.makeRoom = makeRoom;
  }

  /** The class of the sequences whose first steps were of it, whatever the next are. */
  Priority of() {
    return of;
  }

  /** Whether states lie where runs alone can touch them. */
  boolean isOnDevice() {
    return device.areOnDevice();
  }

  /**
   * Reserves what a state lacks that begins or grows, for which others are written out. Called
   * under no lock.
   *
   * @param ownBytes what the state has reserved already
   * @throws StatusException {@link Status#UNAVAILABLE} when there is no room now, of which {@link
   *     StateHasNoRoom} is the cause, {@link Status#INSUFFICIENT_MEMORY} when there never can be
   */
  void reserve(long bytes, long ownBytes) {
    long most = working.mostBeside(ownBytes);
    if (bytes > most) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "a sequence's state, of which there are two copies, needs %s beside the %s that it has, and could have %s at most; raise device.working-memory, or what offline work may hold of it (sharing.offline-memory-percent)"
              .formatted(
                  new ByteSize(bytes), new ByteSize(ownBytes), new ByteSize(Math.max(0, most))));
    }
    if (host.holdsMoreThanItMay() || !tryReserve(bytes, writeOut)) {
      throw StateHasNoRoom.refusal(bytes, ownBytes, of);
    }
    // Looked at last, too: what leaves in exchange holds host memory before its place here is free.
    if (host.holdsMoreThanItMay()) {
      release(bytes);
      throw StateHasNoRoom.refusal(bytes, ownBytes, of);
    }
  }

  /**
   * The same for a state that comes back: others are written out for it though the host is full.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when there is no room now
   */
  void reserveInExchange(long bytes) {
    if (!tryReserve(bytes, exchange)) {
      throw StatusException.unavailable(
          "a sequence's state waits in host memory, and the %s that it needs of device.working-memory are in use by others; try again"
              .formatted(new ByteSize(bytes)));
    }
  }

  private boolean tryReserve(long bytes, LongPredicate leave) {
    boolean mayWait = device.areOnDevice(); // An event loop may not, which takes those of a host.
    while (!working.tryReservePersistent(bytes)) {
      boolean given = mayWait && giveUnasked.test(bytes);
      if (!given && !leave.test(bytes)) {
        makeRoom.accept(bytes);
        return false;
      }
    }
    return true;
  }

  /** Gives back what was reserved; nothing lies in it any more. */
  void release(long bytes) {
    working.releasePersistent(bytes);
  }

  /**
   * Takes memory of zeros, of what is reserved.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when the device has less than it may have:
   *     somebody else holds it
   */
  State take(long bytes) {
    try {
      return device.take(bytes);
    } catch (StatusException e) {
      throw e.status() == Status.INSUFFICIENT_MEMORY
          ? StatusException.unavailable(String.valueOf(e.getMessage()))
          : e;
    }
  }

  /** A few bytes beside a state, which nothing is charged for. */
  State takeWord() {
    return take(Integer.BYTES);
  }

  /** Has a state wait on the host: a copy, where the device's memory is not the host's. */
  State writeOut(State state) {
    if (!device.areOnDevice()) {
      return state;
    }
    State copy = copyOnHost(state);
    state.close();
    return copy;
  }

  private static State copyOnHost(State state) {
    State copy = DeviceStates.ON_HOST.take(state.memory().byteSize());
    try {
      state.read(copy.memory());
      return copy;
    } catch (RuntimeException | Error e) {
      copy.close();
      throw e;
    }
  }

  /** The other way round, of what is reserved. */
  State bringBack(State waiting) {
    if (!device.areOnDevice()) {
      return waiting;
    }
    State state = take(waiting.memory().byteSize());
    try {
      state.write(waiting.memory());
    } catch (RuntimeException | Error e) {
      state.close();
      throw e;
    }
    waiting.close();
    return state;
  }

  /**
   * Gives back host memory that was taken for what is written out; nothing waits in it any more.
   */
  void giveHostBack(long bytes) {
    host.giveBack(bytes);
  }
}
