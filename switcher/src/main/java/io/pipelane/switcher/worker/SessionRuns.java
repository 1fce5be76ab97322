package io.pipelane.switcher.worker;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.LaneLease;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.StateHasNoRoom;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.kept.KeptTensors;
import io.pipelane.switcher.memory.Lease;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Runs requests in sessions of a pool, each once: takes a session, runs it on the lease and the
 * lane, gives it back, and says who is to blame for a run that fails. Safe for any platform thread.
 */
final class SessionRuns {
  private final SessionFactory sessions;
  private final SessionPool pool;
  private final KeptTensors kept;
  private final HeldBySequences states;
  private final SegmentProfiles profiles;
  private final LongSupplier nanoClock;
  private final LongAdder paddedRows = new LongAdder();

  /**
   * Nothing has run yet.
   *
   * @param kept where outputs lie that stay on the device
   * @param states asked what a step's state could ever have
   * @param profiles told how long segments compute
   */
  SessionRuns(
      SessionFactory sessions,
      SessionPool pool,
      KeptTensors kept,
      HeldBySequences states,
      SegmentProfiles profiles,
      LongSupplier nanoClock) {
    this.sessions = sessions;
    this.pool = pool;
    this.kept = kept;
    this.states = states;
    this.profiles = profiles;
    this.nanoClock = nanoClock;
  }

  /**
   * Runs a request as {@link Worker#run} says, but once; its session is built if there is none.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when it fails on what the request gave
   *     it, {@link Status#INTERNAL} when the model's session cannot be built
   */
  void run(
      ImportedModel model,
      InferenceRequest request,
      Lease lease,
      LaneLease lane,
      ResultHandler handler,
      Worker.Caller caller) {
    boolean isAhead = request.place().lane().isPresent();
    PooledSession session =
        isAhead ? takeReady(model, lease, lane) : take(model, lease, lane, request.priority());
    Invocation invocation = invocation(model, request, handler, false, caller);
    try {
      // Buckets serve captures, which only sessions of lanes have.
      if (sessions.boundToLane()) {
        long padded =
            BucketedInvocation.run(
                invocation,
                model,
                rows -> {
                  lease.begin();
                  run(session, rows, lane, request, lease);
                });
        paddedRows.add(padded);
      } else {
        run(session, invocation, lane, request, lease);
      }
    } finally {
      if (isAhead) {
        pool.giveBackReady(session);
      } else {
        pool.giveBack(session);
      }
    }
  }

  /**
   * The same where a session is built and nobody has it; waits for none.
   *
   * @return false otherwise; nothing has happened then
   */
  boolean runIfReady(
      ImportedModel model,
      InferenceRequest request,
      Lease lease,
      LaneLease lane,
      ResultHandler handler,
      Worker.Caller caller) {
    @Nullable PooledSession session = pool.takeBuilt(lease.range());
    if (session == null) {
      return false;
    }
    try {
      Invocation invocation = invocation(model, request, handler, true, caller);
      run(session, invocation, lane, request, lease);
    } finally {
      pool.giveBack(session);
    }
    return true;
  }

  /** Rows that were computed only to fill buckets up. */
  long paddedRows() {
    return paddedRows.sum();
  }

  private PooledSession takeReady(ImportedModel model, Lease lease, LaneLease lane) {
    @Nullable PooledSession session = pool.takeReady(lease.range(), lane.region());
    if (session == null) {
      throw StatusException.unavailable(
          "no session of %s stands ready in the lane".formatted(model.version()));
    }
    return session;
  }

  private PooledSession take(ImportedModel model, Lease lease, LaneLease lane, Priority priority) {
    try {
      return pool.take(model, lease.range(), lane.region(), priority);
    } catch (StatusException e) {
      boolean isOfTheModel =
          switch (e.status()) {
            case INVALID_ARGUMENT, UNIMPLEMENTED, INTERNAL -> true;
            default -> false; // There is no worker process for it now, say.
          };
      String message = "the session of " + model.version() + " cannot be built: ";
      throw isOfTheModel ? new StatusException(Status.INTERNAL, message + e.getMessage(), e) : e;
    }
  }

  private Invocation invocation(
      ImportedModel model,
      InferenceRequest request,
      ResultHandler handler,
      boolean atOnce,
      Worker.Caller caller) {
    return new RequestInvocation(
        request, sessions.owner(model), handler, kept, atOnce, caller::placed, nanoClock);
  }

  private void run(
      PooledSession session,
      Invocation invocation,
      LaneLease lane,
      InferenceRequest request,
      Lease lease) {
    String structure = lease.range().structure().hash();
    lease.usuallyTakes(() -> profiles.totalNanos(structure, shapes(invocation.inputs())));
    try {
      session.session().run(invocation, lane.region(), lane::grow, lease);
      note(invocation, lease);
    } catch (StatusException e) {
      if (e.getCause() instanceof StateHasNoRoom state) {
        throw neverHasRoom(state, session, lane, request.priority()).orElse(e);
      }
      boolean runFailed = e.status() == Status.INTERNAL || e.status() == Status.INVALID_ARGUMENT;
      throw runFailed && !lease.failed() ? refused(request, e) : e;
    }
  }

  /** What refuses a state for good that its own step is in the way of: so would be the next. */
  private Optional<StatusException> neverHasRoom(
      StateHasNoRoom state, PooledSession session, LaneLease lane, Priority step) {
    long most = states.most(state.of(), step, lane.neededBytes(), session.bytes);
    return state.bytes() <= most - state.ownBytes()
        ? Optional.empty()
        : Optional.of(
            new StatusException(
                Status.INSUFFICIENT_MEMORY,
                "a sequence's state, of which there are two copies, needs %s beside the %s that it has, and could have %s at most beside its own step; raise device.working-memory, or what offline work may hold of it (sharing.offline-memory-percent), or end the sequence"
                    .formatted(
                        new ByteSize(state.bytes()),
                        new ByteSize(state.ownBytes()),
                        new ByteSize(Math.max(0, most))),
                state));
  }

  /** What runs of these shapes take is known of the structure from now on. */
  private void note(Invocation invocation, Lease lease) {
    long[] nanos = lease.segmentNanos();
    String structure = lease.range().structure().hash();
    if (nanos != null && profiles.isDue(structure, nanoClock.getAsLong())) {
      profiles.observed(structure, shapes(invocation.inputs()), nanos);
    }
  }

  private static String shapes(List<InputTensor> inputs) {
    return inputs.stream()
        .map(input -> input.name() + " " + input.type() + input.shape())
        .sorted()
        .collect(Collectors.joining(", "));
  }

  /**
   * An operator that fails did so on what the request gave it, such as an index out of range: its
   * model was checked, its memory and weights were there.
   */
  private static StatusException refused(InferenceRequest request, StatusException e) {
    return new StatusException(
        Status.INVALID_ARGUMENT,
        "model " + request.model() + " cannot be run on these inputs: " + e.getMessage(),
        e);
  }
}
