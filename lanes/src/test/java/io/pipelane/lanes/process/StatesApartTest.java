package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.pipelane.config.section.WorkersConfig.SwitchOn;
import io.pipelane.lanes.DeviceStates.State;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Which workers can read the states of all models: none where each belongs to one owner, elsewhere
 * those that were given one.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StatesApartTest {
  private static final float[] X = WorkerFixture.random(2, 1);
  private static final Shape SHAPE = Shape.of(2, TestModels.WIDTH);

  @TempDir Path folder;

  /** A run whose input is a state. */
  private static final class ReadingState extends FloatInvocation {
    private final InputTensor state;

    ReadingState(MemorySegment state) {
      super(X, SHAPE);
      this.state = new InputTensor("x", TensorType.FP32, SHAPE, state);
    }

    @Override
    public List<InputTensor> inputs() {
      return List.of(state);
    }
  }

  @ParameterizedTest
  @EnumSource
  void state_isReadInPlaceByWorkersThatMaySeeAll(SwitchOn switchOn) throws Exception {
    assumeFalse(TestDevices.ON_GPU, "workers map states page by page there");
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (WorkerFixture workers = new WorkerFixture(new TestWorkers(0).switchOn(switchOn));
        ModelSession session = workers.gated(model, workers.filled(model));
        State state = workers.device.states().take((long) X.length * Float.BYTES)) {
      float[] expected = workers.run(session, X);
      assertEquals(List.of(), mappingsOfStates(workers.active().pid()), "it was given none");

      state.write(MemorySegment.ofArray(X));
      ReadingState run = new ReadingState(state.memory());
      session.run(run, workers.region, bytes -> false, WeightArrivals.PRESENT);
      assertArrayEquals(expected, run.output());
      assertArrayEquals(X, state.memory().toArray(ValueLayout.JAVA_FLOAT));
      assertEquals(
          switchOn == SwitchOn.FAULT ? List.of("r--s") : List.of(),
          mappingsOfStates(workers.active().pid()));
    }
  }

  /** What a process may do there. */
  private static List<String> mappingsOfStates(long pid) throws IOException {
    return Files.readAllLines(Path.of("/proc/" + pid + "/maps")).stream()
        .filter(line -> line.contains("pipelane-states"))
        .map(line -> line.split(" ", 3)[1])
        .toList();
  }
}
