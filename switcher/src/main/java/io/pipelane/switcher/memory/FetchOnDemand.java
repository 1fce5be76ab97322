package io.pipelane.switcher.memory;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.WaitingLine.Turn;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;

/**
 * The fetching of weights that a caller waits for, in the order in which callers came.
 *
 * <p>Guarded by the memory daemon's lock, which is given up while a caller waits.
 */
final class FetchOnDemand {
  /*
   * Those that need pages stand in one line, so that a large model is not starved by small ones.
   * While the line is not empty, everybody joins it. Before that, those that need a structure's
   * range, or pages, stand in the structure's line. Only the first there stands in the line for
   * pages, too.
   *
   * Offline runs stand behind all others for pages. Their pages come one at a time, while nothing
   * else is under way (FetchAhead), so what a run sends for online waits for one page at most.
   * Offline runs keep no pages back that are fetched ahead for online work, nor runs that find
   * theirs there. Runs that hold what an online run waits for make way, where that goes before them
   * (OpenLeases). Who could only ever have what stuck runs keep is refused, as all others would
   * wait behind it (StuckLeases).
   */
  private final Condition changed;
  private final WeightMemory memory;
  private final Structures structures;
  private final Transfers transfers;
  private final FetchAhead fetchAhead;
  private final OfflineQuota quota;
  private final OpenLeases openLeases;
  private final StuckLeases stuck;
  private final WaitingLine line = new WaitingLine(true);

  /**
   * Nobody waits.
   *
   * @param changed signalled, of the daemon's lock, when anything may have changed for those that
   *     wait
   */
  FetchOnDemand(
      Condition changed,
      WeightMemory memory,
      Structures structures,
      Transfers transfers,
      FetchAhead fetchAhead,
      OfflineQuota quota,
      OpenLeases openLeases,
      StuckLeases stuck) {
    this.changed = changed;
    this.memory = memory;
    this.structures = structures;
    this.transfers = transfers;
    this.fetchAhead = fetchAhead;
    this.quota = quota;
    this.openLeases = openLeases;
    this.stuck = stuck;
  }

  /**
   * Whether somebody waits for memory whom work of a class must not pass; offline work's quota is
   * none.
   */
  boolean isAwaited(Priority priority) {
    return line.isContended(priority);
  }

  /** Whether somebody waits whom a run of a model must not pass. */
  boolean isAwaitedBefore(Residency residency, Priority priority) {
    boolean passesForQuota =
        priority == Priority.OFFLINE && residency.holding.isOffline() && line.isForQuota();
    return isAwaited(priority) || passesForQuota || !residency.structure.line.isEmpty();
  }

  /**
   * Has a model mounted and all its weights there or on their way, evicting others; waits its turn.
   *
   * @param priority offline work waits behind other work, and gets no more than its share of memory
   * @param run leaves, perhaps several times, before the caller waits; others make way to it
   * @throws StatusException {@link Status#NOT_FOUND} when the model goes meanwhile; what reading
   *     its weights throws
   */
  void makeReady(Residency residency, Priority priority, RunControl run) {
    AtomicBoolean waited = new AtomicBoolean();
    Turn turn = new Turn(priority);
    inTurn(
        residency.structure.line,
        turn,
        residency,
        () -> mountAndBringIn(residency, turn, waited, run),
        run::leave);
  }

  /**
   * The same for models of different structures that are to be there at the same time: room is made
   * for all of them at once, so none is held while another one waits for room.
   *
   * @param beforeWaiting called, perhaps several times, before the caller waits
   * @throws StatusException as for one; none is held then, but some may be on their way
   */
  void makeReady(List<Residency> together, Runnable beforeWaiting) {
    List<Residency> inOrder = new ArrayList<>(together);
    inOrder.sort(Comparator.comparing(residency -> residency.structure.hash()));
    mountFrom(inOrder, 0, new Turn(Priority.ONLINE), beforeWaiting);
  }

  /** Stands in the structures' lines in one order for all, so that nobody waits in a circle. */
  private void mountFrom(List<Residency> inOrder, int next, Turn turn, Runnable beforeWaiting) {
    if (next == inOrder.size()) {
      inTurn(
          line,
          turn,
          inOrder.getFirst(),
          () -> bringIn(inOrder, turn, RunControl.NONE),
          beforeWaiting);
      return;
    }
    Residency residency = inOrder.get(next);
    AtomicBoolean waited = new AtomicBoolean();
    inTurn(
        residency.structure.line,
        turn,
        residency,
        () -> {
          requireInService(residency); // It may have gone while another structure was waited for.
          boolean mounted = mount(residency, turn, waited, RunControl.NONE);
          if (mounted) {
            mountFrom(inOrder, next + 1, turn, beforeWaiting);
          }
          return mounted;
        },
        beforeWaiting);
  }

  /**
   * Goes before all that wait for memory, and waits until some work succeeds.
   *
   * @param residency of the caller
   * @param beforeWaiting called, perhaps several times, before the caller waits
   * @throws StatusException {@link Status#NOT_FOUND} when the model goes meanwhile
   */
  void goFirst(Residency residency, BooleanSupplier work, Runnable beforeWaiting) {
    inTurn(line, Turn.beforeAll(), residency, work, beforeWaiting);
  }

  private boolean bringIn(List<Residency> together, Turn turn, RunControl run) {
    together.forEach(FetchOnDemand::requireInService);
    memory.settleAll();
    for (Residency residency : together) {
      if (residency.hasFailed()) {
        return false;
      }
    }
    try (Claim claim = memory.claim(together)) {
      long missing = memory.missingBytes(together, claim);
      Set<Residency> spared = Set.copyOf(together);
      boolean fits = memory.makeRoom(missing, spared);
      if (!fits) {
        stuck.requireRoom(together, claim);
      }
      if (!fits && !turn.isOffline()) {
        openLeases.makeWay(run, cleared -> memory.wouldHaveRoom(missing, spared, cleared));
      }
      if (fits) {
        for (Residency residency : together) {
          if (!residency.isComplete()) {
            transfers.start(residency, claim);
          }
        }
      }
      return fits;
    }
  }

  private boolean mount(Residency residency, Turn turn, AtomicBoolean waited, RunControl run) {
    boolean mounted = structures.mount(residency, waited.getAndSet(true));
    if (!mounted) {
      stuck.requireRange(residency.structure);
    }
    if (!mounted && !turn.isOffline()) {
      openLeases.makeWayIn(residency.structure, run);
    }
    return mounted;
  }

  /** Mounts a model in its structure's turn, then brings in what is missing in everybody's. */
  private boolean mountAndBringIn(
      Residency residency, Turn turn, AtomicBoolean waited, RunControl run) {
    if (!mount(residency, turn, waited, run)) {
      return false;
    }
    if (isAwaited(Priority.ONLINE) || turn.isOffline() || !residency.isComplete()) {
      inTurn(line, turn, residency, () -> bringIn(residency, turn, run), run::leave);
    }
    return true;
  }

  /** Waits until it is the caller's turn, and what it does then succeeds. */
  private void inTurn(
      WaitingLine turns,
      Turn turn,
      Residency residency,
      BooleanSupplier work,
      Runnable beforeWaiting) {
    turns.join(turn);
    changed.signalAll(); // It may have hurried others.
    try {
      while (!turns.isFirst(turn) || !work.getAsBoolean()) {
        beforeWaiting.run();
        changed.awaitUninterruptibly();
        requireInService(residency);
      }
    } finally {
      turns.leave(turn);
      changed.signalAll();
    }
  }

  /** A model that was registered anew meanwhile has another residency, which is not this one. */
  private static void requireInService(Residency residency) {
    if (residency.retired) {
      throw Residency.notInService(residency.model.version());
    }
  }

  /** Starts the transfer of what is missing; false when that has to wait. */
  private boolean bringIn(Residency residency, Turn turn, RunControl run) {
    memory.settle(residency);
    turn.waitsForQuota = turn.isOffline() && !quota.admits(residency);
    if (turn.waitsForQuota) {
      quota.requireFits(residency); // Its model may have become offline work's alone meanwhile.
      quota.requireNotKept(residency);
      return false;
    }
    if (residency.isComplete()) {
      return true;
    }
    if (turn.isOffline() && !residency.fetchFailed) {
      boolean complete = bringInPages(residency);
      if (complete || !residency.fetchFailed) {
        return complete;
      } // What cannot be fetched is sent for all the same, so the run hears why.
    }
    return bringIn(List.of(residency), turn, run);
  }

  /**
   * Sends for one page after another of what offline work waits for, as long as each is there at
   * once; true when the last is on its way.
   */
  private boolean bringInPages(Residency residency) {
    long sent;
    do {
      memory.settleAll();
      memory.join(residency);
      if (residency.isComplete()) {
        return true;
      }
      sent = fetchAhead.sendBehindOthers(residency);
      memory.counters.offline(sent, residency.isComplete());
    } while (sent > 0 && !residency.isComplete() && !residency.isArriving());
    if (!residency.isComplete()) {
      try (Claim claim = memory.claim(List.of(residency))) {
        stuck.requireRoom(List.of(residency), claim);
      }
    }
    return residency.isComplete();
  }
}
