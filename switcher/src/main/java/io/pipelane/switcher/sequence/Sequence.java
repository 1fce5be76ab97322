package io.pipelane.switcher.sequence;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
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
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/** One sequence: its state, the step under way, and those that wait for it. */
final class Sequence {
  /* The state belongs to the step under way, and to the monitor between steps, which guards the rest. */
  private static final int MOST_WAITING = 64;

  private final StateMemory memory;
  private final StatePairs pairs;
  private final BiFunction<InferenceRequest, ResultHandler, Ticket> queue;
  private final Runnable whenIdle;
  private final Map<String, StateTensor> state = new HashMap<>();
  private final Deque<Step> waiting = new ArrayDeque<>();
  private boolean running;
  private boolean ended;

  /** When its last step came; guarded by the table's monitor. */
  long usedNanos;

  /** A sequence without a state. */
  Sequence(
      StateMemory memory,
      StatePairs pairs,
      BiFunction<InferenceRequest, ResultHandler, Ticket> queue,
      Runnable whenIdle) {
    this.memory = memory;
    this.pairs = pairs;
    this.queue = queue;
    this.whenIdle = whenIdle;
  }

  /** Takes a step, to run once those before it have. */
  Ticket submit(InferenceRequest request, SequenceStep of, ResultHandler handler) {
    Step step = new Step(request, of, handler);
    synchronized (this) {
      if (ended) {
        throw StatusException.unavailable(
            "sequence \"%s\" is just going; try again".formatted(of.id()), Duration.ofSeconds(1));
      }
      if (running) {
        if (waiting.size() >= MOST_WAITING) {
          throw StatusException.unavailable(
              "%d steps of sequence \"%s\" wait, which is the limit"
                  .formatted(waiting.size(), of.id()),
              Duration.ofSeconds(1));
        }
        waiting.add(step);
        return step;
      }
      running = true;
    }
    try {
      step.begin();
    } catch (RuntimeException | Error e) {
      next(step.of.start());
      throw e;
    }
    return step;
  }

  /** Has the state be read between steps, see {@link SequenceState#read}. */
  boolean read(SequenceState.Reader reader) throws IOException {
    synchronized (this) {
      awaitIdle();
      if (ended || state.isEmpty()) {
        return false;
      }
      running = true;
    }
    try {
      reader.read(state.values().stream().map(StateTensor::input).toList());
    } finally {
      next(false);
    }
    return true;
  }

  /** Called under the monitor. */
  private void awaitIdle() {
    boolean interrupted = false;
    while (running) {
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
  synchronized void end() {
    ended = true;
    if (!running) {
      free();
    }
  }

  /** Ends it unless a step is under way. */
  synchronized boolean endIfIdle() {
    if (!running) {
      end();
    }
    return !running;
  }

  boolean isChargedTo(StateMemory other) {
    return memory == other;
  }

  /** Has its state give its working memory up; false where that gave nothing. */
  synchronized boolean writeOut() {
    boolean any = false;
    if (!running) {
      for (StateTensor tensor : state.values()) {
        any |= tensor.writeOut();
      }
    }
    return any;
  }

  /** Ends it if it has no state, and no step is under way. */
  synchronized boolean endIfEmpty() {
    return state.isEmpty() && endIfIdle();
  }

  private void free() {
    state.values().forEach(StateTensor::close);
    state.clear();
  }

  /**
   * The step under way has ended: the next one begins, if there is one.
   *
   * @param isOver whether the state goes first
   */
  private void next(boolean isOver) {
    if (isOver) {
      free();
    }
    while (true) {
      @Nullable Step following;
      synchronized (this) {
        following = waiting.poll();
        running = following != null;
        if (following == null) {
          notifyAll();
          if (ended) {
            free();
          }
        }
      }
      if (following == null) {
        whenIdle.run();
        return;
      }
      try {
        following.begin();
        return;
      } catch (RuntimeException | Error e) {
        if (following.of.start()) {
          free();
        }
        following.handler.failed(
            e instanceof StatusException known
                ? known
                : new StatusException(Status.INTERNAL, "a step could not begin: " + e, e));
      }
    }
  }

  /** One request of the sequence. */
  private final class Step implements Ticket, ResultHandler {
    private final InferenceRequest request;
    private final SequenceStep of;
    private final ResultHandler handler;
    private @Nullable Ticket ticket;

    Step(InferenceRequest request, SequenceStep of, ResultHandler handler) {
      this.request = request;
      this.of = of;
      this.handler = handler;
    }

    /** Submits the request with the state; nobody else touches that until its end. */
    void begin() {
      if (of.start()) {
        free();
        for (Map.Entry<String, TensorSpec> pair : pairs.inputs().entrySet()) {
          long rows = pairs.rows(request.inputs());
          state.put(pair.getKey(), new StateTensor(memory, pair.getValue(), rows));
        }
        of.initial().forEach(this::begin);
      } else if (state.isEmpty()) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "sequence \"%s\" has ended: begin it with sequence_start".formatted(of.id()));
      } else {
        state.values().forEach(StateTensor::bringBack);
      }
      ticket = queue.apply(withState(), this);
    }

    /** Has one tensor of the state begin with what is given. */
    private void begin(InputTensor given) {
      StateTensor tensor =
          state.values().stream()
              .filter(each -> each.input().name().equals(given.name()))
              .findFirst()
              .orElseThrow(
                  () ->
                      new StatusException(
                          Status.INVALID_ARGUMENT,
                          "\"%s\" is no state of model %s"
                              .formatted(given.name(), request.model())));
      tensor.begin(given);
    }

    private InferenceRequest withState() {
      Map<String, InputTensor> all = new HashMap<>();
      request.inputs().forEach(input -> all.put(input.name(), input));
      state.values().forEach(tensor -> all.put(tensor.input().name(), tensor.input()));
      List<InputTensor> inputs = new ArrayList<>(all.size());
      for (TensorSpec declared : pairs.declared()) {
        @Nullable InputTensor input = all.get(declared.name());
        if (input == null) {
          throw new StatusException(
              Status.INVALID_ARGUMENT, "input \"" + declared.name() + "\" is missing");
        }
        inputs.add(input);
      }
      List<String> outputs = new ArrayList<>(request.outputs());
      outputs.addAll(state.keySet());
      return new InferenceRequest(
          request.model(),
          inputs,
          outputs,
          request.deadlineNanos(),
          request.priority(),
          Optional.of(of));
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      @Nullable StateTensor tensor = state.get(name);
      return tensor == null
          ? handler.place(name, type, shape, byteSize)
          : tensor.place(shape, byteSize);
    }

    @Override
    public void completed(InferenceTimings timings) {
      state.values().forEach(StateTensor::advance);
      try {
        handler.completed(timings);
      } finally {
        next(of.end());
      }
    }

    @Override
    public void failed(StatusException error) {
      try {
        handler.failed(error);
      } finally {
        next(of.end());
      }
    }

    @Override
    public void cancel() {
      boolean waited;
      synchronized (Sequence.this) {
        waited = waiting.remove(this);
      }
      if (waited) {
        handler.failed(new StatusException(Status.CANCELLED, "the request was withdrawn"));
      } else if (ticket != null) {
        ticket.cancel();
      }
    }
  }
}
