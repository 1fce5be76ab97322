package io.pipelane.switcher.schedule;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.LaneLease;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.memory.Lease;
import io.pipelane.switcher.worker.NoSessionRoomException;
import io.pipelane.switcher.worker.Worker;
import io.pipelane.switcher.worker.Worker.SessionRoom;

/** Runs requests in lanes that have room for them. Safe for any platform thread. */
final class LaneRuns {
  /*
   * A run that outgrew its lane while other lanes held the rest is begun anew once a lane of what it
   * needs can be had; every time it is known to need more, so it ends. A run whose session has to be
   * built where there is no room leaves its lane, waits for the room, and is begun anew with it.
   */
  private final Lanes lanes;
  private final Worker worker;
  private final EphemeralProfile profile;

  /**
   * Runs nothing yet.
   *
   * @param profile told what runs take
   */
  LaneRuns(Lanes lanes, Worker worker, EphemeralProfile profile) {
    this.lanes = lanes;
    this.worker = worker;
    this.profile = profile;
  }

  /** Forgets what a model's runs took. */
  void forget(ModelVersion version) {
    profile.forget(version);
  }

  /**
   * Runs a request.
   *
   * @param key the request's
   * @param placed see {@link Worker#run}
   */
  void run(
      InferenceRequest request, RunKey key, Lease lease, ResultHandler handler, Runnable placed) {
    boolean ran = false;
    while (!ran) {
      try {
        runInLane(request, key, lease, handler, placed);
        ran = true;
      } catch (NoSessionRoomException e) {
        ran = runWithRoom(request, key, lease, handler, placed);
      }
    }
  }

  /** Returns false when the session has turned out larger than its room. */
  private boolean runWithRoom(
      InferenceRequest request, RunKey key, Lease lease, ResultHandler handler, Runnable placed) {
    try (SessionRoom _ = worker.makeRoom(lease, profile.expected(key))) {
      runInLane(request, key, lease, handler, placed);
      return true;
    } catch (NoSessionRoomException e) {
      return false;
    }
  }

  private void runInLane(
      InferenceRequest request, RunKey key, Lease lease, ResultHandler handler, Runnable placed) {
    long expected = profile.expected(key);
    long needed = expected;
    boolean ran = false;
    while (!ran) {
      try (LaneLease lane = enter(request, needed, lease)) {
        try {
          lease.begin();
          worker.run(request, lease, lane, handler, placed);
          needed = lane.region().peakBytes();
          ran = true;
        } catch (OutOfDeviceMemoryException e) {
          needed = EphemeralRegion.align(lane.region().peakBytes() + e.refusedBytes());
        }
      }
      if (needed > expected) {
        profile.observed(key, needed);
      }
    }
  }

  /** Sessions come and go: a lane that could be had may be too large once its turn has come. */
  private LaneLease enter(InferenceRequest request, long needed, Lease lease) {
    while (true) {
      if (!worker.makeLaneRoom(needed)) {
        throw tooLarge(request, needed);
      }
      try {
        return lanes.enter(needed, worker.lanesOf(lease));
      } catch (StatusException e) {
        if (e.status() != Status.INSUFFICIENT_MEMORY) {
          throw e;
        }
      }
    }
  }

  private StatusException tooLarge(InferenceRequest request, long neededBytes) {
    return new StatusException(
        Status.INSUFFICIENT_MEMORY,
        "model %s needs at least %s of run-time memory for these shapes; a lane can have at most"
                .formatted(request.model(), new ByteSize(neededBytes))
            + " %s of device.working-memory; raise that, or send smaller shapes"
                .formatted(new ByteSize(lanes.largestLaneBytes())));
  }
}
