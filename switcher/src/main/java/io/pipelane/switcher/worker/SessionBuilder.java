package io.pipelane.switcher.worker;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.LaneLease;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.StructureRange;
import io.pipelane.switcher.sharing.gate.OnlineWork.MemoryWait;
import io.pipelane.switcher.worker.SessionRooms.Seeker;
import io.pipelane.switcher.worker.Worker.SessionRoom;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A builder of sessions for which no run has asked. Safe for any platform thread. */
final class SessionBuilder {
  private final SessionFactory sessions;
  private final Lanes lanes;
  private final SessionTable table;
  private final SessionRooms rooms;
  private final SessionPool pool;

  SessionBuilder(
      SessionFactory sessions,
      Lanes lanes,
      SessionTable table,
      SessionRooms rooms,
      SessionPool pool) {
    this.sessions = sessions;
    this.lanes = lanes;
    this.table = table;
    this.rooms = rooms;
    this.pool = pool;
  }

  /**
   * The purpose of a session; any variant of its structure may run in it.
   *
   * @param priority the class of the model's requests that name none
   */
  record Wanted(ImportedModel model, StructureRange range, Priority priority) {}

  /**
   * Builds a session where a range has none, so that a model that cannot be run is refused before
   * it has requests.
   *
   * @param attempts does what may lose its worker process, perhaps several times, and has others
   *     wait for it: they hold lanes, so all that is waited for is waited for before
   * @param wait begun, perhaps several times, while it waits for what runs have, and no longer
   */
  void build(Wanted wanted, Consumer<Runnable> attempts, MemoryWait wait) {
    boolean built = tryBuild(wanted, attempts, wait);
    while (!built) { // What room was made for may be lost with a process, or turn out larger.
      try (SessionRoom _ =
          rooms.makeRoom(wanted.range.structure(), 0, Seeker.OF_A_SESSION, wait::begin)) {
        wait.end();
        built = tryBuild(wanted, attempts, wait);
      }
    }
  }

  /** Returns false when there is no room for the session. */
  private boolean tryBuild(Wanted wanted, Consumer<Runnable> attempts, MemoryWait wait) {
    try {
      buildInLane(wanted, attempts, wait);
      return true;
    } catch (NoSessionRoomException e) {
      return false;
    }
  }

  private void buildInLane(Wanted wanted, Consumer<Runnable> attempts, MemoryWait wait) {
    if (!sessions.boundToLane()) {
      attempts.accept(() -> take(wanted, null));
    } else if (table.lanesOf(wanted.range).isEmpty()) {
      try (LaneLease lane = lanes.enter(0, false, Set.of(), wait::begin)) {
        wait.end();
        attempts.accept(() -> take(wanted, lane.region()));
      }
    }
  }

  private void take(Wanted wanted, @Nullable EphemeralRegion lane) {
    pool.giveBack(pool.take(wanted.model, wanted.range, lane, wanted.priority));
  }

  /**
   * Builds a session in memory that is free, where a range has none.
   *
   * @return false where all lanes are in use, by those who have something to do
   * @throws NoSessionRoomException when others would have to give way
   */
  boolean buildAhead(Wanted wanted) {
    if (!sessions.boundToLane()) {
      buildAhead(wanted, null);
      return true;
    }
    if (!table.lanesOf(wanted.range).isEmpty()) {
      return true;
    }
    try (@Nullable LaneLease lane = lanes.tryEnter(0)) {
      if (lane != null) {
        buildAhead(wanted, lane.region());
      }
      return lane != null;
    }
  }

  /**
   * The same in a lane in which the range has none yet.
   *
   * @return false where all such lanes are in use, too; true where there is none
   */
  boolean buildInAnotherLane(Wanted wanted) {
    Set<EphemeralRegion> having = table.lanesOf(wanted.range);
    boolean isEverywhere = true;
    for (EphemeralRegion region : lanes.regions()) {
      if (!having.contains(region)) {
        isEverywhere = false;
        try (@Nullable LaneLease lane = lanes.tryEnter(region, 0)) {
          if (lane != null) {
            buildAhead(wanted, region);
            return true;
          }
        }
      }
    }
    return isEverywhere;
  }

  private void buildAhead(Wanted wanted, @Nullable EphemeralRegion lane) {
    pool.buildAhead(wanted.model, wanted.range, lane, wanted.priority);
  }
}
