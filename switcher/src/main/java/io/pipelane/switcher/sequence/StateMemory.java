package io.pipelane.switcher.sequence;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.DeviceStates.State;
import io.pipelane.lanes.execution.Reservations;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import java.util.function.LongPredicate;

/**
 * The memory for the states of one class of sequences: working memory, and host memory while they
 * are written out. Safe for any thread.
 */
final class StateMemory {
  private final DeviceStates device;
  private final Reservations working;
  private final HostStates host;
  private final LongPredicate giveUnasked;
  private final BooleanSupplier writeOut;
  private final LongConsumer makeRoom;

  /**
   * Nothing is charged yet.
   *
   * @param giveUnasked has other memory given back that nobody has asked for yet, in favour of so
   *     many bytes; false when that would not be enough. It may take its time
   * @param writeOut has a state written out that nobody needs now; false when there is none
   * @param makeRoom has other memory given back that nobody uses now, in favour of so many bytes,
   *     for who asks again, if that would be enough
   */
  StateMemory(
      DeviceStates device,
      Reservations working,
      HostStates host,
      LongPredicate giveUnasked,
      BooleanSupplier writeOut,
      LongConsumer makeRoom) {
    this.device = device;
    this.working = working;
    this.host = host;
    this.giveUnasked = giveUnasked;
    this.writeOut = writeOut;
    this.makeRoom = makeRoom;
  }

  /** Whether states lie where runs alone can touch them. */
  boolean isOnDevice() {
    return device.areOnDevice();
  }

  /**
   * Takes memory of zeros, for which others are written out. Called under no lock.
   *
   * @param togetherBytes with all that is to be taken besides, as part of one state: what is no use
   *     to all of that is not given up for a part
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when there is no room
   */
  State take(long bytes, long togetherBytes) {
    if (!tryReserve(bytes, togetherBytes)) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "a sequence's state of %s does not fit device.working-memory at present, or what offline work may hold of that (sharing.offline-memory-percent); end sequences, or raise them or host-tier.states"
              .formatted(new ByteSize(bytes)));
    }
    return reserved(bytes);
  }

  private boolean tryReserve(long bytes, long togetherBytes) {
    boolean mayWait = device.areOnDevice(); // An event loop may not, which takes those of a host.
    while (!working.tryReservePersistent(bytes)) {
      boolean given = mayWait && giveUnasked.test(togetherBytes);
      if (!given && !writeOut.getAsBoolean()) {
        makeRoom.accept(togetherBytes);
        return false;
      }
    }
    return true;
  }

  private State reserved(long bytes) {
    try {
      return device.take(bytes);
    } catch (RuntimeException | Error e) {
      working.releasePersistent(bytes);
      throw e;
    }
  }

  /** A few bytes beside a state, which nothing is charged for. */
  State takeWord() {
    return device.take(Integer.BYTES);
  }

  /** Gives back what {@link #take} or {@link #bringBack} has answered. */
  void giveBack(State state) {
    long bytes = state.memory().byteSize();
    state.close();
    working.releasePersistent(bytes);
  }

  /**
   * Has a state wait on the host, charged there: a copy, where the device's memory is not the
   * host's.
   *
   * @return empty when the host has no room; nothing is changed then
   */
  Optional<State> writeOut(State state) {
    long bytes = state.memory().byteSize();
    if (!host.tryTake(bytes)) {
      return Optional.empty();
    }
    if (!device.areOnDevice()) {
      working.releasePersistent(bytes);
      return Optional.of(state);
    }
    State copy;
    try {
      copy = copyOnHost(state);
    } catch (RuntimeException | Error e) {
      host.giveBack(bytes);
      throw e;
    }
    giveBack(state);
    return Optional.of(copy);
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

  /**
   * The other way round.
   *
   * @param togetherBytes as for {@link #take}
   * @throws StatusException {@link Status#UNAVAILABLE} when there is no room; nothing is changed
   */
  State bringBack(State waiting, long togetherBytes) {
    long bytes = waiting.memory().byteSize();
    if (!tryReserve(bytes, togetherBytes)) {
      throw StatusException.unavailable(
          "the sequence's state of %s waits in host memory, and device.working-memory is in use; try again"
              .formatted(new ByteSize(bytes)));
    }
    if (!device.areOnDevice()) {
      host.giveBack(bytes);
      return waiting;
    }
    State state = reserved(bytes);
    try {
      state.write(waiting.memory());
    } catch (RuntimeException | Error e) {
      giveBack(state);
      throw e;
    }
    discard(waiting);
    return state;
  }

  /** Gives back what waits on the host. */
  void discard(State waiting) {
    long bytes = waiting.memory().byteSize();
    waiting.close();
    host.giveBack(bytes);
  }
}
