package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** State between requests whose worker is lost. */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SequenceLossTest {
  private static final int STEPS = 400;
  private static final int KILLS = 3;

  /** Of a state of a mebibyte. */
  private static final int ROWS = 4096;

  @TempDir Path folder;

  private static Call step(WorkersFixture workers, ImportedModel model, String id, boolean start) {
    InferenceRequest request = Call.request(model.version(), WorkersFixture.input(1));
    Call call = new Call();
    workers.switcher.submit(
        new InferenceRequest(
            request.model(),
            request.inputs(),
            List.of("y"),
            OptionalLong.empty(),
            Priority.ONLINE,
            Optional.of(new SequenceStep(id, start, false))),
        call);
    return call;
  }

  /** Every step adds the same once: one done twice or not at all would show in all later ones. */
  @Test
  void killActive_betweenAndDuringSteps_everyStepGoesOnFromTheOneBefore() throws Exception {
    try (WorkersFixture workers = new WorkersFixture(new TestWorkers(1))) {
      ImportedModel model = TestImports.of(TestModels.recurrent(WorkersFixture.WIDTH), "m", folder);
      workers.switcher.register(model, SequencesTest.keeping(Map.of("t", "s")));
      List<float[]> expected = new ArrayList<>();
      for (int i = 0; i < STEPS; i++) {
        expected.add(step(workers, model, "undisturbed", i == 0).await());
      }
      for (int kill = 1; kill <= KILLS; kill++) {
        workers.await(WorkerState.STANDBY, 1);
        Call before = step(workers, model, "kill" + kill, true);
        for (int i = 1; i < STEPS; i++) {
          Call next = step(workers, model, "kill" + kill, false);
          assertArrayEquals(expected.get(i - 1), before.await(), "step " + i + ", kill " + kill);
          before = next;
          if (i == kill * STEPS / (KILLS + 1)) {
            workers.killActive();
          }
        }
        assertArrayEquals(expected.getLast(), before.await());
      }
      assertEquals(KILLS, workers.workers.workers().lost());
    }
  }

  /** One step of many sums in every row; the first number of the answer. */
  private static Call large(
      WorkersFixture workers, ImportedModel model, String id, boolean start, float value) {
    float[] x = new float[ROWS * WorkersFixture.WIDTH];
    Arrays.fill(x, value);
    MemorySegment data = Arena.ofAuto().allocateFrom(ValueLayout.JAVA_FLOAT, x);
    InputTensor input =
        new InputTensor("x", TensorType.FP32, Shape.of(ROWS, WorkersFixture.WIDTH), data);
    Call call = new Call();
    workers.switcher.submit(
        new InferenceRequest(
            model.version(),
            List.of(input),
            List.of("y"),
            OptionalLong.empty(),
            Priority.ONLINE,
            Optional.of(new SequenceStep(id, start, false))),
        call);
    return call;
  }

  /** States move between device and host all the time, and steps are under way. */
  @Test
  void killActive_whileStatesAreWrittenOutAndBroughtBack_allGoOnAsAlone() throws Exception {
    assumeFalse(TestDevices.ON_GPU, "what a GPU's session takes is not known that well");
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    int sequences = 20;
    long state = (long) ROWS * WorkersFixture.WIDTH * Float.BYTES;
    try (WorkersFixture workers =
        new WorkersFixture(new TestWorkers(1), 20 * state, sequences * state)) {
      ImportedModel model = TestImports.of(TestModels.recurrent(WorkersFixture.WIDTH), "m", folder);
      workers.switcher.register(model, SequencesTest.keeping(Map.of("t", "s")));
      float one = large(workers, model, "alone", true, 1).await()[0];
      float[] sums = new float[sequences];
      for (int i = 0; i < sequences; i++) {
        float[] _ = large(workers, model, "s" + i, true, 1).await();
        sums[i] = 1;
      }
      for (int i = 0; i < 90; i++) {
        int which = random.nextInt(sequences);
        int value = 1 + random.nextInt(3);
        Call step = large(workers, model, "s" + which, false, value);
        if (i % 30 == 20) {
          workers.killActive();
        }
        sums[which] += value;
        assertEquals(
            sums[which] * one,
            step.await()[0],
            Math.abs(sums[which] * one) * 1e-3f + 1e-3f,
            "seed " + seed + ", step " + i);
        if (i % 30 == 20) {
          workers.await(WorkerState.STANDBY, 0);
        }
      }
      assertTrue(workers.switcher.states().timesWrittenOut() > 0);
      assertEquals(3, workers.workers.workers().lost());
    }
  }
}
