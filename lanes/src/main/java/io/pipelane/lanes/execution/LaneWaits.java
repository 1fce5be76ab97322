package io.pipelane.lanes.execution;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.EphemeralRegion;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/**
 * Those who wait for working memory: iterations for a lane, and what outlives them for room beside
 * the lanes. Called under the lanes' lock, which is free while somebody waits.
 */
final class LaneWaits {
  /*
   * Nobody is passed for ever: while an iteration is pending, or session constants wait for room,
   * no new iteration is given a lane. Nor does anybody wait for ever: an iteration that waited in a
   * lane behind one that does not end looks for another lane. Where all that are open are kept so,
   * whoever waits is refused.
   */
  private final Condition changed;
  private final LaneSpace space;
  private int reserving;

  /**
   * Nobody waits.
   *
   * @param changed of the lanes' lock, signalled when anything may have changed for those that wait
   */
  LaneWaits(Condition changed, LaneSpace space) {
    this.changed = changed;
    this.space = space;
  }

  /** Whether somebody waits for room beside the lanes, and no new iteration is given one. */
  boolean isReserving() {
    return reserving > 0;
  }

  /**
   * Waits until an iteration has a lane to itself, or its turn in one.
   *
   * @param exactly whether a new lane has no more than that
   * @param beforeWaiting called, perhaps several times, before it waits
   * @return the lane, which is busy now
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when the iteration could not even
   *     run alone, {@link Status#UNAVAILABLE} when it would wait for processes that do not end; it
   *     is in no lane then
   */
  LaneSpace.Lane enter(
      String iteration,
      long ephemeralBytes,
      boolean exactly,
      Set<EphemeralRegion> preferredRegions,
      Runnable beforeWaiting) {
    while (reserving > 0 || space.hasPending()) {
      beforeWaiting.run();
      changed.awaitUninterruptibly();
    }
    space.arrive(iteration, ephemeralBytes, exactly, preferredRegions);
    return awaitTurn(iteration, ephemeralBytes, exactly, preferredRegions, beforeWaiting);
  }

  private LaneSpace.Lane awaitTurn(
      String iteration,
      long ephemeralBytes,
      boolean exactly,
      Set<EphemeralRegion> preferredRegions,
      Runnable beforeWaiting) {
    while (true) {
      LaneSpace.@Nullable Lane lane = space.laneOf(iteration);
      if (lane != null && lane.isStuck()) {
        space.finish(iteration);
        changed.signalAll();
        space.arrive(iteration, ephemeralBytes, exactly, preferredRegions);
        lane = space.laneOf(iteration);
      }
      if (lane == null && ephemeralBytes > space.largestLaneBytes()) {
        space.finish(iteration);
        changed.signalAll();
        throw new StatusException(
            Status.INSUFFICIENT_MEMORY,
            "a run needs %s of run-time memory; since it came, session constants have left %s of %s"
                .formatted(
                    new ByteSize(ephemeralBytes),
                    new ByteSize(space.largestLaneBytes()),
                    new ByteSize(space.capacityBytes() + space.borrowedBytes())));
      }
      if (lane == null && !space.standstill().isEmpty()) {
        StatusException refusal = refusal(space.standstill());
        space.finish(iteration);
        changed.signalAll();
        throw refusal;
      }
      if (lane != null && !lane.busy) {
        lane.busy = true;
        return lane;
      }
      beforeWaiting.run();
      changed.awaitUninterruptibly();
    }
  }

  /**
   * Takes room for something that outlives iterations; waits for lanes that hold it.
   *
   * @return false when there is no room even without lanes
   * @throws StatusException {@link Status#UNAVAILABLE} when it would wait for processes that do not
   *     end
   */
  boolean reserve(long bytes) {
    reserving++;
    try {
      while (bytes <= space.mostPersistentBytes() && bytes > space.headroomBytes()) {
        String standstill = space.standstill();
        if (!standstill.isEmpty()) {
          throw refusal(standstill);
        }
        changed.awaitUninterruptibly();
      }
      if (bytes > space.mostPersistentBytes()) {
        return false;
      }
      space.addPersistent(bytes);
      return true;
    } finally {
      reserving--;
      changed.signalAll();
    }
  }

  private static StatusException refusal(String standstill) {
    return StatusException.unavailable("run-time memory that is needed is kept: " + standstill);
  }
}
