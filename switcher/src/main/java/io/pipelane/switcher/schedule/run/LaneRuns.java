package io.pipelane.switcher.schedule.run;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.BorrowedSpace;
import io.pipelane.lanes.execution.LaneLease;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.StateHasNoRoom;
import io.pipelane.switcher.memory.LaneLoans;
import io.pipelane.switcher.memory.Lease;
import io.pipelane.switcher.schedule.estimate.RunHistory;
import io.pipelane.switcher.schedule.estimate.RunKey;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.turn.Turn;
import io.pipelane.switcher.worker.NoSessionRoomException;
import io.pipelane.switcher.worker.Worker;
import io.pipelane.switcher.worker.Worker.SessionRoom;
import io.pipelane.switcher.working.OfflineWorkingMemory;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Runs of requests in lanes that have room for them. Safe for any platform thread. */
final class LaneRuns {
  /*
   * A run may outgrow its lane while other lanes hold the rest. It is begun anew once a lane of the
   * size that it needs can be had. Every time it is known to need more, so this comes to an end.
   * Where the run needs more than is set aside for lanes, weights that nobody computes with give
   * way. Where it needs those that others compute with, it has to let go of its own weights before
   * it waits; that is its caller's to do.
   *
   * A step of a sequence may need more for its state: it has no more of a lane than it needs.
   *
   * A run whose session has to be built where there is no room leaves its lane, waits for the room,
   * and is begun anew with it.
   */
  private final Lanes lanes;
  private final OfflineWorkingMemory offline;
  private final LaneLoans loans;
  private final Worker worker;
  private final RunHistory history;

  /**
   * Runs nothing yet.
   *
   * @param offline what offline runs may have of the lanes
   * @param loans what lanes may have of the memory for weights
   * @param history told what runs take
   */
  LaneRuns(
      Lanes lanes,
      OfflineWorkingMemory offline,
      LaneLoans loans,
      Worker worker,
      RunHistory history) {
    this.lanes = lanes;
    this.offline = offline;
    this.loans = loans;
    this.worker = worker;
    this.history = history;
  }

  /** What a run like this is known to take of a lane. */
  long expectedBytes(RunKey key) {
    return history.of(key).peakBytes();
  }

  /** What runs like a request's have taken, or more where it has shown so itself. */
  private long neededBytes(QueuedRequest request) {
    return Math.max(expectedBytes(request.key()), request.neededOfLane());
  }

  /**
   * Runs a request.
   *
   * @param caller see {@link Worker#run}
   * @param turn the calling thread's, which it has; given up while it waits
   * @throws LaneWaitsForWeightsException when others compute with what gives way to no run of which
   *     weights are held
   */
  void run(QueuedRequest request, Lease lease, Worker.Caller caller, Turn turn) {
    boolean ran = false;
    while (!ran) {
      try {
        runInLane(request, lease, caller, turn);
        ran = true;
      } catch (NoSessionRoomException e) {
        ran = runWithRoom(request, lease, caller, turn);
      }
    }
  }

  /** Returns false when the session has turned out larger than its room. */
  private boolean runWithRoom(QueuedRequest request, Lease lease, Worker.Caller caller, Turn turn) {
    turn.leave();
    long laneBytes = neededBytes(request);
    try (BorrowedSpace.Borrowing borrowing = lanes.borrowed().begin();
        SessionRoom room = makeRoom(request.request(), laneBytes, lease)) {
      runInLane(request, lease, lettingGo(borrowing::close, lettingGo(room::close, caller)), turn);
      return true;
    } catch (NoSessionRoomException e) {
      return false;
    }
  }

  /**
   * Has a run that does not end let go of what others need to make room, or to have theirs back: it
   * has its session and its lane.
   */
  static Worker.Caller lettingGo(Runnable held, Worker.Caller caller) {
    return new Worker.Caller() {
      @Override
      public void placed() {
        caller.placed();
      }

      @Override
      public void failed(StatusException reason) {
        held.run();
        caller.failed(reason);
      }
    };
  }

  private SessionRoom makeRoom(InferenceRequest request, long laneBytes, Lease lease) {
    try {
      return worker.makeRoom(lease, laneBytes, request);
    } catch (StatusException e) {
      long bytes = laneBytes + worker.sessionBytes(lease);
      throw bytes > lanes.largestLaneBytes() ? waitsForWeights(bytes, lease, e) : e;
    }
  }

  /** What to throw where a lane cannot be had now. */
  private RuntimeException waitsForWeights(long laneBytes, Lease lease, StatusException refusal) {
    boolean isForMemory =
        refusal.status() == Status.INSUFFICIENT_MEMORY || refusal.status() == Status.UNAVAILABLE;
    return isForMemory && couldLend(laneBytes, lease)
        ? new LaneWaitsForWeightsException(laneBytes, refusal)
        : refusal;
  }

  /** Whether a lane could be had once nobody else computes, and sessions have given way. */
  private boolean couldLend(long laneBytes, Lease lease) {
    return loans.couldLend(Math.max(0, laneBytes - lanes.capacityBytes()), lease);
  }

  /**
   * Waits until the lane of a run could be had beside its own weights; for one thread at a time,
   * which holds no others.
   *
   * @param refused says what the run needs
   * @return keeps what has given way until the run has ended
   * @throws StatusException the refusal where this would not help
   */
  BorrowedSpace.Borrowing awaitRoom(LaneWaitsForWeightsException refused, Lease lease, Turn turn) {
    BorrowedSpace.Borrowing borrowing =
        lanes.borrowed().begin(); // The weights are there: they wait for none.
    boolean isThere = false;
    try {
      if (!couldLend(refused.laneBytes(), lease)) {
        throw refused.refusal();
      }
      LongSupplier missing = () -> refused.laneBytes() - lanes.largestLaneBytes();
      lanes.borrowed().lent(loans.await(missing, lease, turn::leave));
      isThere = true;
      return borrowing;
    } finally {
      if (!isThere) {
        borrowing.close();
      }
    }
  }

  private void runInLane(QueuedRequest request, Lease lease, Worker.Caller caller, Turn turn) {
    long needed = neededBytes(request);
    boolean ran = false;
    while (!ran) {
      try (LaneLease lane = enter(request.request(), needed, lease, turn)) {
        turn.retake();
        try {
          lease.begin();
          worker.run(request.request(), lease, lane, request.handler(), caller);
          history.toTell(request.key()).took(lane.region().peakBytes());
          ran = true;
        } catch (StatusException e) {
          if (e.getCause() instanceof StateHasNoRoom) { // The next has a lane of that size.
            history.toTell(request.key()).took(lane.region().peakBytes());
          }
          throw e;
        } catch (OutOfDeviceMemoryException e) {
          long larger = EphemeralRegion.align(lane.region().peakBytes() + e.refusedBytes());
          if (larger <= needed) {
            throw notForTheLane(request.request(), e);
          }
          needed = larger;
          request.needsOfLane(larger);
        }
      }
    }
  }

  private LaneLease enter(InferenceRequest request, long needed, Lease lease, Turn turn) {
    Supplier<LaneLease> lane =
        () ->
            request
                .place()
                .lane()
                .map(only -> enterOnly(only, request, needed))
                .orElseGet(() -> enterAny(request, needed, lease, turn));
    return request.priority() == Priority.OFFLINE
        ? offline.enter(needed, request.place().offlineStateBytes().getAsLong(), turn::leave, lane)
        : lane.get();
  }

  /** Nobody gives way to it, and it waits for nobody. */
  private LaneLease enterOnly(EphemeralRegion lane, InferenceRequest request, long needed) {
    @Nullable LaneLease entered = lanes.tryEnter(lane, needed);
    if (entered == null) {
      throw StatusException.unavailable(
          "the lane that a run of %s is for cannot be had now".formatted(request.model()));
    }
    return entered;
  }

  /** Sessions come and go: a lane that could be had may be too large once its turn has come. */
  private LaneLease enterAny(InferenceRequest request, long needed, Lease lease, Turn turn) {
    try (BorrowedSpace.Borrowing _ = lanes.borrowed().begin()) {
      while (true) {
        makeLaneRoom(request, needed, lease, turn);
        try {
          boolean exactly = request.sequence().isPresent();
          return lanes.enter(needed, exactly, worker.lanesOf(lease), turn::leave);
        } catch (StatusException e) {
          if (e.status() != Status.INSUFFICIENT_MEMORY || lanes.largestLaneBytes() >= needed) {
            throw e;
          }
        }
      }
    }
  }

  private void makeLaneRoom(InferenceRequest request, long needed, Lease lease, Turn turn) {
    try {
      worker.makeLaneRoom(request, needed, turn::leave);
    } catch (StatusException e) {
      boolean hasComeSince =
          e.status() == Status.INSUFFICIENT_MEMORY && needed <= lanes.largestLaneBytes();
      if (!hasComeSince) {
        throw waitsForWeights(needed, lease, e);
      }
    }
  }

  /** A larger lane would not help: it was not the lane that had too little. */
  private static StatusException notForTheLane(
      InferenceRequest request, OutOfDeviceMemoryException e) {
    return new StatusException(
        Status.INSUFFICIENT_MEMORY,
        "a run of %s was refused %s of device memory beside its lane"
            .formatted(request.model(), new ByteSize(e.refusedBytes())),
        e);
  }
}
