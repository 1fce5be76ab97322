package io.pipelane.switcher.placement;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.PlacedOnce;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceState;
import io.pipelane.switcher.SequenceStep;
import io.pipelane.switcher.sequence.StepTicket;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A client's sequence that goes on from its last step when its device is lost. Safe for any thread.
 */
final class MovingSequence {
  /*
   * Steps are given to the device one after another, so only one can be under way when the device
   * is lost. It is made again on another device, behind the steps that the log has; whoever asked
   * for it sees that it took longer. A step counts once it is in the log, and is there before its
   * caller is told.
   *
   * The step under way owns `place` and the log's content; the monitor guards the rest. A
   * checkpoint is read behind a step, as a part of it: exactly the steps in the log have led to it
   * then.
   */
  private static final System.Logger LOG = System.getLogger(MovingSequence.class.getName());
  private static final int MOST_WAITING = 64;

  private final MovingSequences table;
  private final Route route;
  private final Deque<Step> waiting = new ArrayDeque<>();
  private @Nullable Member place;
  private @Nullable SequenceLog log;
  private boolean running;
  private boolean gone;

  /** When its last step came or ended; guarded by the table's monitor. */
  long usedNanos;

  MovingSequence(MovingSequences table, Route route) {
    this.table = table;
    this.route = route;
  }

  /** Takes a step, to run once those before it have; null where the sequence has ended. */
  @Nullable Ticket submit(
      InferenceRequest request,
      SequenceStep of,
      ResultHandler handler,
      Function<Member, Hold> devices) {
    Step step = new Step(request, of, handler, devices);
    synchronized (this) {
      if (gone) {
        return null;
      }
      if (running) {
        if (waiting.size() >= MOST_WAITING) {
          throw StatusException.unavailable(
              "%d steps of sequence \"%s\" wait, which is the limit"
                  .formatted(waiting.size(), of.id()));
        }
        table.waiting().enter(request);
        waiting.add(step);
        return step.ticket;
      }
      running = true;
    }
    try {
      step.begin();
    } catch (RuntimeException | Error e) {
      next(step);
      throw e;
    }
    return step.ticket;
  }

  /** A step has ended: the next one begins, if there is one. */
  private void next(Step ended) {
    table.used(this, ended.request);
    while (true) {
      @Nullable Step following;
      synchronized (this) {
        following = waiting.poll();
        running = following != null;
      }
      if (following == null) {
        break;
      }
      table.waiting().leave(following.request);
      try {
        following.begin();
        return;
      } catch (StatusException e) {
        following.handler.failed(e);
      } catch (RuntimeException | Error e) {
        following.handler.failed(
            new StatusException(Status.INTERNAL, "a step could not begin: " + e, e));
      }
    }
    if (log() == null) {
      table.ended(this, ended.request);
    }
  }

  /** Ends it unless a step is under way. */
  synchronized boolean endIfIdle() {
    if (!running) {
      end();
    }
    return !running;
  }

  /** Nothing goes on from here any more. */
  synchronized void end() {
    gone = true;
    keep(null);
  }

  private synchronized @Nullable SequenceLog log() {
    return log;
  }

  private synchronized void keep(@Nullable SequenceLog next) {
    if (log != null) {
      log.close();
    }
    log = gone ? null : next;
    if (gone && next != null) {
      next.close();
    }
  }

  private synchronized @Nullable Member place() {
    return place;
  }

  private synchronized void movedTo(@Nullable Member member) {
    place = member;
  }

  /** What a step has led to is kept, in place of the steps once they are many. */
  private void made(Step step, Member at) {
    if (step.of.start()) {
      keep(new SequenceLog(table.room(), step.of));
    }
    movedTo(at);
    @Nullable SequenceLog current = log();
    if (current == null) {
      return;
    }
    boolean wasKept = step.of.start() || !current.isClosed();
    if (!current.add(step.request) && wasKept) {
      LOG.log(
          Level.WARNING,
          "sequence {0} is kept on its device alone from now on, and ends with that: host-tier.states has no room for its steps",
          step.of.id());
    }
  }

  private boolean isLong() {
    @Nullable SequenceLog current = log();
    return current != null && current.isLong();
  }

  /** Has the state take the place of the steps that have led to it; blocks. */
  private void checkpoint(Step step) {
    @Nullable Member at = place();
    @Nullable SequenceLog current = log();
    if (at == null || current == null) {
      return;
    }
    try {
      Optional<SequenceState> state =
          at.switcher.sequence(step.request.model(), step.of.owner(), step.of.id());
      if (state.isPresent()) {
        boolean _ = state.get().read(reached -> keepState(current, reached, step));
      }
    } catch (IOException | RuntimeException e) { // The steps are there still.
      LOG.log(Level.DEBUG, "no checkpoint of sequence " + step.of.id(), e);
    }
  }

  private static void keepState(SequenceLog log, List<InputTensor> state, Step step) {
    if (!log.replace(state)) {
      LOG.log(
          Level.DEBUG,
          "sequence {0} is kept by its steps for longer: host-tier.states has no room for its state",
          step.of.id());
    }
  }

  /** One request of the sequence. */
  private final class Step {
    private final InferenceRequest request;
    private final SequenceStep of;
    private final ResultHandler handler;
    private final Function<Member, Hold> devices;
    private final StepTicket ticket;

    /** Those that are made again for it are not asked for anew, nor is it on another device. */
    private boolean isCounted;

    Step(
        InferenceRequest request,
        SequenceStep of,
        ResultHandler handler,
        Function<Member, Hold> devices) {
      this.request = request;
      this.of = of;
      this.handler = new PlacedOnce(handler);
      this.devices = devices;
      this.ticket = new StepTicket(this::leavesLine, this.handler);
    }

    /** Gives it to the device that has the state, or to another one behind all before it. */
    void begin() {
      try {
        @Nullable Member at = place();
        boolean isKnown = !of.start() && (at != null || log() != null);
        if (!isKnown) {
          give(new Attempt(this, request, new ArrayDeque<>(), null));
        } else if (at == null || !at.isUsable() || !isGiven(at)) {
          move();
        }
      } catch (RuntimeException | Error e) {
        forgetBeginning();
        throw e;
      }
    }

    /** False where requests for the model go to other devices now. */
    private boolean isGiven(Member at) {
      try {
        give(new Attempt(this, request, new ArrayDeque<>(), at));
        return true;
      } catch (ElsewhereException e) {
        return false;
      }
    }

    /** Its device may have begun the sequence or not. */
    private void forgetBeginning() {
      if (of.start()) {
        keep(null);
        movedTo(null);
      }
    }

    /** Makes it on another device than before. */
    private void move() {
      movedTo(null);
      @Nullable SequenceLog from = log();
      if (!of.start() && (from == null || from.isClosed())) {
        keep(null); // The next one is told so by the device.
        throw new StatusException(
            Status.DEVICE_FAILURE,
            "sequence \"%s\" was on a device that is lost, and host-tier.states had no room for what it could go on from: begin it anew with sequence_start"
                .formatted(of.id()));
      }
      Deque<InferenceRequest> all =
          of.start() || from == null
              ? new ArrayDeque<>(List.of(request))
              : new ArrayDeque<>(from.with(request, of));
      LOG.log(
          Level.INFO,
          "sequence {0} goes on on another device, {1} steps back",
          of.id(),
          all.size());
      InferenceRequest first = all.removeFirst();
      give(new Attempt(this, first, all, null));
    }

    private void give(Attempt attempt) {
      RoutedRequest routed =
          RoutedRequest.staying(
              table.router(),
              route,
              attempt.request,
              attempt,
              member -> attempt.at(member),
              !isCounted,
              attempt::lost);
      isCounted = true;
      ticket.becomes(routed); // Before it is submitted: it may end, and another attempt begin.
      routed.submit();
    }

    private void failed(StatusException error) {
      forgetBeginning();
      try {
        handler.failed(error);
      } finally {
        ended(of.endsWhereItFails(error));
      }
    }

    private void made(Member at) {
      try {
        MovingSequence.this.made(this, at);
      } catch (RuntimeException | OutOfMemoryError e) { // It has been made, whatever becomes of it.
        LOG.log(Level.WARNING, "sequence " + of.id() + " is kept on its device alone", e);
        keep(null);
      }
    }

    private void ended(boolean isOver) {
      if (isOver) {
        keep(null);
        movedTo(null);
      }
      if (isLong()) {
        table.behind(() -> checkpoint(this), () -> next(this));
      } else {
        next(this);
      }
    }

    private boolean leavesLine() {
      boolean waited;
      synchronized (MovingSequence.this) {
        waited = waiting.remove(this);
      }
      if (waited) {
        table.waiting().leave(request);
      }
      return waited;
    }
  }

  /** One of the requests that a step takes: it alone, or those before it first. */
  private final class Attempt implements ResultHandler {
    private final Step step;
    private final InferenceRequest request;
    private final Deque<InferenceRequest> following;
    private final @Nullable Member wanted;
    private volatile @Nullable Member at;

    /**
     * A request on its way.
     *
     * @param following those behind it, which need the state that it leads to
     * @param wanted the device that has the state; null for any
     */
    Attempt(
        Step step,
        InferenceRequest request,
        Deque<InferenceRequest> following,
        @Nullable Member wanted) {
      this.step = step;
      this.request = request;
      this.following = following;
      this.wanted = wanted;
    }

    Hold at(Member member) {
      if (wanted != null && wanted != member) {
        throw new ElsewhereException();
      }
      at = member;
      return step.devices.apply(member);
    }

    private boolean isLast() {
      return following.isEmpty();
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      return isLast()
          ? step.handler.place(name, type, shape, byteSize)
          : Arena.ofAuto().allocate(Math.max(1, byteSize), 64).asSlice(0, byteSize);
    }

    @Override
    public void completed(InferenceTimings timings) {
      Member member = Objects.requireNonNull(at, "it has run");
      if (isLast()) {
        step.made(member);
        try {
          step.handler.completed(timings);
        } finally {
          step.ended(step.of.end());
        }
        return;
      }
      try {
        step.give(new Attempt(step, following.removeFirst(), following, member));
      } catch (ElsewhereException e) {
        lost(new StatusException(Status.DEVICE_FAILURE, "a device was lost"));
      } catch (RuntimeException | Error e) {
        failed(RoutedRequest.failure(e));
      }
    }

    @Override
    public void failed(StatusException error) {
      boolean isOfAnother = !isLast() && error.status() != Status.CANCELLED;
      step.failed(
          isOfAnother
              ? StatusException.unavailable(
                  "sequence \"%s\" could not go on on another device: %s"
                      .formatted(step.of.id(), error.getMessage()),
                  error)
              : error);
    }

    /** Its device was lost under it. */
    void lost(StatusException error) {
      try {
        step.move();
      } catch (RuntimeException | Error e) {
        e.addSuppressed(error);
        step.failed(RoutedRequest.failure(e));
      }
    }
  }

  /** The failure of a step for which a device was chosen that has no state of the sequence. */
  private static final class ElsewhereException extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }
}
