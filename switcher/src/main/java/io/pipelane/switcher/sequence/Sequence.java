package io.pipelane.switcher.sequence;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceState;
import io.pipelane.switcher.SequenceStep;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/** One sequence: its state, the step under way, and those that wait for it. */
final class Sequence {
  private static final System.Logger LOG = System.getLogger(Sequence.class.getName());

  /*
   * The state belongs to the step under way, and to the monitor between steps, which guards the rest.
   * A step that has been made leaves the state before its handler is told, so that who hears of it
   * finds the room of a state that is idle. The next one begins after that, so answers come in the
   * order of the steps.
   */
  private static final int MOST_WAITING = 64;

  private final StateMemory memory;
  private final StatePairs pairs;
  private final BiFunction<InferenceRequest, ResultHandler, Ticket> queue;
  private final Executor mover;
  private final Runnable whenUsed;
  private final StepBounds bounds;
  private final Consumer<Sequence> whenIdle;
  private final Deque<Step> waiting = new ArrayDeque<>();
  private @Nullable KeptState state;

  /** Whether somebody has the state: a step, or who reads it or writes it out. */
  private boolean running;

  /** Whether the handler of a step is being told, which has left the state. */
  private boolean telling;

  private boolean ended;

  /** When its last step came or ended; guarded by the table's monitor. */
  long usedNanos;

  /**
   * A sequence without a state.
   *
   * @param mover does what may take long, one thing after another
   * @param bounds what waits in all sequences
   * @param whenUsed told that a step ends, while it counts as under way still
   * @param whenIdle told that no step is under way any more, with the sequence
   */
  Sequence(
      StateMemory memory,
      StatePairs pairs,
      BiFunction<InferenceRequest, ResultHandler, Ticket> queue,
      Executor mover,
      StepBounds bounds,
      Runnable whenUsed,
      Consumer<Sequence> whenIdle) {
    this.memory = memory;
    this.pairs = pairs;
    this.queue = queue;
    this.mover = mover;
    this.bounds = bounds;
    this.whenUsed = whenUsed;
    this.whenIdle = whenIdle;
  }

  /** Takes a step, to run once those before it have; null where the sequence has ended. */
  @Nullable Ticket submit(InferenceRequest request, SequenceStep of, ResultHandler handler) {
    Step step = new Step(request, of, handler);
    synchronized (this) {
      if (ended) {
        return null;
      }
      if (isBusy()) {
        if (waiting.size() >= MOST_WAITING) {
          throw StatusException.unavailable(
              "%d steps of sequence \"%s\" wait, which is the limit"
                  .formatted(waiting.size(), of.id()));
        }
        bounds.enter(request);
        waiting.add(step);
        return step.ticket;
      }
      running = true;
    }
    try {
      if (memory.isOnDevice() && needsMemory(step)) {
        mover.execute(() -> beginOrFail(step));
      } else {
        step.begin();
      }
    } catch (RuntimeException | Error e) {
      next(step.of.start(), () -> {});
      throw e;
    }
    return step.ticket;
  }

  /** Whether a step is under way, without which none waits; called under the monitor. */
  private boolean isBusy() {
    return running || telling;
  }

  /** Whether memory has to be taken before a step, which belongs on no event loop or lane. */
  private boolean needsMemory(Step step) {
    KeptState kept = state;
    return step.of.start() || (kept != null && kept.lacksMemory());
  }

  /** Has the state be read between steps, see {@link SequenceState#read}. */
  boolean read(SequenceState.Reader reader) throws IOException {
    synchronized (this) {
      awaitIdle();
      if (ended || state == null) {
        return false;
      }
      running = true;
    }
    try (Arena arena = Arena.ofShared()) {
      reader.read(Objects.requireNonNull(state).onHost(arena));
    } finally {
      next(false, () -> {});
    }
    return true;
  }

  /** Called under the monitor. */
  private void awaitIdle() {
    boolean interrupted = false;
    while (isBusy()) {
      try {
        wait();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Gives the state back, now or when the step under way has ended; takes no more steps. */
  void end() {
    KeptState gone;
    synchronized (this) {
      ended = true;
      gone = isBusy() ? null : takeState();
    }
    if (gone != null) {
      gone.close();
    }
  }

  /**
   * Ends it unless a step is under way; what a device takes its time to give back comes back in
   * front of the next step that needs memory.
   */
  synchronized boolean endIfIdle() {
    if (isBusy()) {
      return false;
    }
    ended = true;
    KeptState gone = takeState();
    if (gone != null && memory.isOnDevice()) {
      mover.execute(gone::close);
    } else if (gone != null) {
      gone.close();
    }
    return true;
  }

  private @Nullable KeptState takeState() {
    KeptState taken = state;
    state = null;
    return taken;
  }

  boolean isChargedTo(Priority of) {
    return memory.of() == of;
  }

  /**
   * Has its state give its working memory up, between steps; blocks.
   *
   * @param onHost takes host memory, if there is any
   * @return false where that gave nothing
   */
  boolean writeOut(LongPredicate onHost) {
    KeptState kept;
    synchronized (this) {
      if (running || ended || state == null || state.isWrittenOut()) {
        return false;
      }
      kept = state;
      running = true;
    }
    try {
      return kept.writeOut(onHost);
    } catch (StatusException e) {
      LOG.log(Level.WARNING, "a state was not written out", e);
      kept.stays();
      return false;
    } finally {
      goOn(false);
    }
  }

  /** What its state would take of host memory now, were it written out. */
  synchronized long idleBytes() {
    return running || ended || state == null ? 0 : state.leavingBytes();
  }

  /** Whether it takes no more steps. */
  synchronized boolean hasEnded() {
    return ended;
  }

  /** Ends it if it is about to go. */
  synchronized boolean endIfLeaving() {
    boolean goes = isLeaving();
    ended |= goes;
    return goes;
  }

  /** Whether it is about to go: its last step is being told, or has been, and has left no state. */
  synchronized boolean isLeaving() {
    return state == null && !running && waiting.isEmpty() && (telling || ended);
  }

  /** Of whoever has the state, in a step or between two. */
  private void free() {
    KeptState gone = takeState();
    if (gone != null) {
      gone.close();
    }
  }

  /**
   * The step under way has ended: others may have the room of its state, its handler is told, and
   * then the next one begins, if there is one.
   *
   * @param isOver whether the state goes first
   */
  private void next(boolean isOver, Runnable told) {
    try {
      if (isOver) {
        free();
      }
      whenUsed.run();
    } finally {
      try {
        tell(told);
      } finally {
        goOn(true);
      }
    }
  }

  /** Has a handler be told, while others may have the state. */
  private void tell(Runnable told) {
    synchronized (this) {
      running = false;
      telling = true;
    }
    told.run();
  }

  /**
   * Begins the step that waits, or is idle, and at its end without a state; whoever else is at work
   * here does so in the end. A step that comes finds somebody at work until none waits.
   *
   * @param hasTold whether it is a handler that has been told, and not the state that is left
   */
  private void goOn(boolean hasTold) {
    boolean ofTelling = hasTold;
    while (true) {
      @Nullable Step following;
      synchronized (this) {
        if (ofTelling) {
          telling = false;
        } else {
          running = false;
        }
        if (running || telling) {
          return;
        }
        following = waiting.poll();
        running = following != null;
        if (following == null) {
          notifyAll();
          ended |= state == null;
          if (ended) {
            free();
          }
        }
      }
      if (following == null) {
        whenIdle.accept(this);
        return;
      }
      bounds.leave(following.request);
      @Nullable StatusException failure =
          needsMemory(following) ? beginOnMover(following) : begin(following);
      if (failure == null) {
        return;
      }
      try {
        tell(() -> following.handler.failed(failure));
      } catch (RuntimeException | Error e) {
        goOn(true);
        throw e;
      }
      ofTelling = true;
    }
  }

  /** Has a step be begun where memory is taken; answers why it will not be. */
  private @Nullable StatusException beginOnMover(Step step) {
    try {
      mover.execute(() -> beginOrFail(step));
      return null;
    } catch (RejectedExecutionException e) { // The service stops, and those that wait are told.
      return StatusException.shuttingDown();
    }
  }

  /** A sequence that did not begin is gone before anybody hears of it. */
  private void beginOrFail(Step step) {
    @Nullable StatusException failure = begin(step);
    if (failure != null) {
      next(
          false,
          () -> {
            whenIdle.accept(this);
            step.handler.failed(failure);
          });
    }
  }

  /** Begins a step that nobody waits for here; answers why it could not be begun. */
  private @Nullable StatusException begin(Step step) {
    try {
      step.begin();
      return null;
    } catch (RuntimeException | Error e) {
      if (step.of.start()) {
        free();
      }
      return e instanceof StatusException known
          ? known
          : new StatusException(Status.INTERNAL, "a step could not begin: " + e, e);
    }
  }

  /** One request of the sequence. */
  private final class Step implements ResultHandler {
    private final InferenceRequest request;
    private final SequenceStep of;
    private final ResultHandler handler;
    private final StepTicket ticket;

    Step(InferenceRequest request, SequenceStep of, ResultHandler handler) {
      this.request = request;
      this.of = of;
      this.handler = handler;
      this.ticket = new StepTicket(this::leavesLine, handler);
    }

    /** Submits the request with the state; nobody else touches that until its end. */
    void begin() {
      KeptState kept = state;
      if (of.start()) {
        free();
        kept = new KeptState(memory, pairs, pairs.rows(request.inputs()), of.initial());
        state = kept;
      } else if (kept == null) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "sequence \"%s\" has ended: begin it with sequence_start".formatted(of.id()));
      } else {
        kept.bringBack();
      }
      ticket.becomes(queue.apply(withState(kept), this));
    }

    private InferenceRequest withState(KeptState kept) {
      Map<String, InputTensor> all = new HashMap<>();
      request.inputs().forEach(input -> all.put(input.name(), input));
      kept.inputs().forEach(input -> all.put(input.name(), input));
      List<InputTensor> inputs = new ArrayList<>(all.size());
      for (TensorSpec declared : pairs.declared()) {
        inputs.add(Objects.requireNonNull(all.get(declared.name()), declared.name()));
      }
      List<String> outputs = new ArrayList<>(request.outputs());
      outputs.addAll(kept.outputs());
      return new InferenceRequest(
          request.model(),
          inputs,
          outputs,
          request.deadline(),
          request.priority(),
          Optional.of(of),
          request.job(),
          request
              .place()
              .numbering(kept.nextNumber())
              .holding(kept::chargedBytes)
              .holdingOffline(isChargedTo(Priority.OFFLINE) ? kept::chargedBytes : () -> 0));
    }

    private KeptState kept() {
      return Objects.requireNonNull(state, "a step under way has a state");
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      @Nullable MemorySegment place = kept().place(name, shape, byteSize);
      return place == null ? handler.place(name, type, shape, byteSize) : place;
    }

    @Override
    public void completed(InferenceTimings timings) {
      kept().advance();
      next(of.end(), () -> handler.completed(timings));
    }

    @Override
    public void failed(StatusException error) {
      next(of.endsWhereItFails(error), () -> handler.failed(error));
    }

    private boolean leavesLine() {
      boolean waited;
      synchronized (Sequence.this) {
        waited = waiting.remove(this);
      }
      if (waited) {
        bounds.leave(request);
      }
      return waited;
    }
  }
}
