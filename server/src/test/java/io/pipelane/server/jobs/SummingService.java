package io.pipelane.server.jobs;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceState;
import io.pipelane.switcher.SequenceStep;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Adds up what the steps of a sequence ask, as state {@code s}; {@code y_x} is the sum so far. */
final class SummingService implements InferenceService {
  private static final int WIDTH = 4;

  private final Map<String, float[]> sums = new HashMap<>();
  private int steps;

  /** After how many steps everything is forgotten, once; none where it is 0. */
  int forgetAfter;

  /** How many steps change the state, as a model of several may, and fail all the same. */
  int failuresHalfway;

  /** How many items are wrong before one begins the state. */
  int wrongBeginnings;

  /** The first number of items that change the state and are found wrong then; none has this. */
  float wrongHalfway = -1;

  /** How many readings of a state fail, as of a device that gives no answer. */
  int failingReads;

  /** How many beginnings are refused for want of room. */
  int refusals;

  /**
   * Whether they are told by the handler, as where a device's memory is taken behind the caller.
   */
  boolean refusesLater;

  @Override
  public synchronized Ticket submit(InferenceRequest request, ResultHandler handler) {
    SequenceStep step = request.sequence().orElseThrow();
    if (step.start() && refusals-- > 0) {
      StatusException refusal = StatusException.unavailable("no room for the state");
      if (!refusesLater) {
        throw refusal;
      }
      handler.failed(refusal);
      return Ticket.ENDED;
    }
    if (step.start() && wrongBeginnings-- > 0) {
      handler.failed(new StatusException(Status.INVALID_ARGUMENT, "a wrong item"));
      return Ticket.ENDED;
    }
    if (++steps == forgetAfter) {
      sums.clear();
    }
    if (step.start()) {
      sums.put(step.id(), new float[WIDTH]);
      step.initial().forEach(tensor -> add(step.id(), tensor));
    }
    add(step.id(), request.inputs().getFirst());
    if (!step.start() && failuresHalfway-- > 0) {
      handler.failed(new StatusException(Status.UNAVAILABLE, "the next model's queue is full"));
      return Ticket.ENDED;
    }
    MemorySegment input = request.inputs().getFirst().data();
    if (input.get(ValueLayout.JAVA_FLOAT_UNALIGNED, 0) == wrongHalfway) {
      handler.failed(new StatusException(Status.INVALID_ARGUMENT, "wrong to the next model"));
      return Ticket.ENDED;
    }
    MemorySegment sum = MemorySegment.ofArray(sums.getOrDefault(step.id(), new float[0]));
    handler.place("y_x", TensorType.FP32, Shape.of(1, WIDTH), sum.byteSize()).copyFrom(sum);
    handler.completed(new InferenceTimings(1, 2, 3));
    return Ticket.ENDED;
  }

  private void add(String id, InputTensor tensor) {
    float[] sum = sums.get(id);
    if (sum == null) {
      throw new StatusException(Status.INVALID_ARGUMENT, "there is no sequence " + id);
    }
    for (int i = 0; i < WIDTH; i++) {
      sum[i] += tensor.data().getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i);
    }
  }

  /** Items that have been asked for. */
  synchronized int steps() {
    return steps;
  }

  /** Sequences that have begun and not ended. */
  synchronized int sequences() {
    return sums.size();
  }

  @Override
  public synchronized Optional<SequenceState> sequence(ModelVersion model, String id) {
    return sums.containsKey(id) ? Optional.of(new State(id)) : Optional.empty();
  }

  private final class State implements SequenceState {
    private final String id;

    State(String id) {
      this.id = id;
    }

    @Override
    public boolean read(Reader reader) throws IOException {
      synchronized (SummingService.this) {
        if (failingReads-- > 0) {
          throw new StatusException(Status.DEVICE_FAILURE, "no state, on demand");
        }
        float[] sum = sums.get(id);
        if (sum == null) {
          return false;
        }
        MemorySegment data = Arena.ofAuto().allocateFrom(ValueLayout.JAVA_FLOAT, sum);
        reader.read(List.of(new InputTensor("s", TensorType.FP32, Shape.of(1, WIDTH), data)));
        return true;
      }
    }

    @Override
    public void end() {
      synchronized (SummingService.this) {
        sums.remove(id);
      }
    }
  }
}
