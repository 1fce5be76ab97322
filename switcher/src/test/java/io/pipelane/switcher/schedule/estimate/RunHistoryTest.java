package io.pipelane.switcher.schedule.estimate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.SequenceStep;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class RunHistoryTest {
  private static final ModelVersion MODEL = new ModelVersion("m", 1);
  private static final int LAYERS = 12;
  private static final int STEPS = 4_000;

  private final Estimates estimates = new Estimates(_ -> 0, _ -> 0, _ -> 0, () -> 0);
  private final RunHistory history = estimates.history();

  /** A decoder's step behind so many tokens. */
  private static RunKey step(long tokens, long past) {
    List<Shape> shapes = new ArrayList<>(List.of(Shape.of(1, tokens), Shape.of(1, tokens + past)));
    for (int layer = 0; layer < LAYERS; layer++) {
      shapes.add(Shape.of(1, 8, past, 64));
      shapes.add(Shape.of(1, 8, past, 64));
    }
    return key(shapes, Optional.of(new SequenceStep("s", past == 0, false)));
  }

  private static RunKey key(List<Shape> shapes, Optional<SequenceStep> step) {
    List<InputTensor> inputs =
        shapes.stream()
            .map(shape -> new InputTensor("x", TensorType.FP32, shape, MemorySegment.NULL))
            .toList();
    return RunKey.of(
        new InferenceRequest(
            MODEL, inputs, List.of(), OptionalLong.empty(), Priority.ONLINE, step));
  }

  private RunKey coming(RunKey key) {
    PastRuns _ = history.ofComing(key);
    return key;
  }

  private void ran(RunKey key, long nanos) {
    estimates.ran(key, estimates.executionNanos(key), 0, nanos, 0);
    history.toTell(key).took(nanos);
  }

  private static long nanos(long past) {
    return 1_000_000 + 10_000 * past;
  }

  @Test
  void stepOfALengthThatHasNotRun_takesWhatTheOnesBeforeItDo() {
    for (int past = 1; past < 50; past++) {
      ran(step(1, past), nanos(past));
    }
    RunKey next = coming(step(1, 50));
    assertEquals(1.5e6, (double) estimates.executionNanos(next), 0.07e6);
    assertTrue(history.of(next).leastNanos(0) > 1_300_000, "deadlines are judged by it");
    assertEquals(0, history.of(next).knownNanos(), "none of its own has run");
    RunKey later = coming(step(1, 53)); // Of a size that none before it was near.
    assertEquals(1.53e6, (double) estimates.executionNanos(later), 0.15e6);
    assertTrue(history.of(later).peakBytes() > 0);
    ran(later, 5 * nanos(53));
    assertEquals(5 * nanos(53), estimates.executionNanos(later), "its own run tells better");
  }

  /** It was the first of its sequence once, with as many tokens as it liked. */
  @Test
  void step_isNotTakenForALargerOneOfAnotherForm() {
    for (int run = 0; run < 3; run++) {
      ran(step(200, 500), 50 * nanos(500));
      ran(step(1, 400), nanos(400));
    }
    assertEquals(nanos(400), estimates.executionNanos(coming(step(1, 501))));
    assertEquals(0, estimates.executionNanos(coming(step(1, 300))), "a larger one says nothing");
  }

  @Test
  void decoderOfManySteps_leavesFewSizes() {
    for (int past = 0; past < STEPS; past++) {
      ran(step(1, past), nanos(past));
    }
    assertTrue(history.size() < STEPS / 20, history.size() + " sizes");
  }

  @Test
  void whateverClientsSend_isBounded() {
    for (int size = 1; size < 60_000; size++) {
      ran(key(List.of(Shape.of(1, size)), Optional.empty()), 1_000);
    }
    assertTrue(history.size() <= 20_000, history.size() + " sizes");
    List<Shape> many = new ArrayList<>();
    for (int size = 1; size < 4_000; size++) {
      many.clear();
      for (int input = 0; input < 96; input++) {
        many.add(Shape.of(1, size));
      }
      ran(key(List.copyOf(many), Optional.empty()), 1_000);
    }
    assertTrue(history.size() <= 20_000, history.size() + " sizes");
  }
}
