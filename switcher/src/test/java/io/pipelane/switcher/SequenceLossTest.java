package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.TestModels;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** State between requests whose worker is lost. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SequenceLossTest {
  private static final int STEPS = 400;
  private static final int KILLS = 3;

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
    try (WorkersFixture workers = new WorkersFixture(1, Duration.ofSeconds(20))) {
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
}
