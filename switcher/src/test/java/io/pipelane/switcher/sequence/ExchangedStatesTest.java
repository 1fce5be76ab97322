package io.pipelane.switcher.sequence;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.BoundedReservations;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Sequences of which as many have begun as working memory and host memory hold together. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("NullAway.Init") // begin() fills the fields.
class ExchangedStatesTest {
  private static final int WIDTH = 16;
  private static final long ROW = WIDTH * (long) Float.BYTES;
  private static final long WORKING = 19 * ROW;
  private static final long HOST = 12 * ROW;

  @TempDir Path folder;
  private final BoundedReservations working = new BoundedReservations(WORKING);
  private ImportedModel model;
  private Sequences sequences;

  @BeforeEach
  void begin() throws Exception {
    model = TestImports.of(TestModels.recurrent(WIDTH), "m", folder);
    sequences =
        new Sequences(
            DeviceStates.ON_HOST,
            working,
            working,
            HOST,
            _ -> false,
            (_, _) -> {},
            new StepBounds(1_000, 1 << 20),
            ExchangedStatesTest::run,
            System::nanoTime);
    sequences.agree(model, Map.of("t", "s"));
  }

  @AfterEach
  void everythingIsGivenBack() {
    sequences.forget(model.version());
    sequences.close();
    assertEquals(WORKING, working.freeBytes());
    assertEquals(0, sequences.overview().writtenOutBytes());
  }

  private static Ticket run(InferenceRequest request, ResultHandler handler) {
    Shape shape = request.inputs().getFirst().shape();
    for (String output : request.outputs()) {
      MemorySegment place =
          handler.place(output, TensorType.FP32, shape, shape.elements() * Float.BYTES);
      float before = input(request, "s").get(JAVA_FLOAT, 0);
      place.set(JAVA_FLOAT, 0, before + input(request, "x").get(JAVA_FLOAT, 0));
    }
    handler.completed(new InferenceTimings(0, 0, 0, 1, 0));
    return Ticket.ENDED;
  }

  private static MemorySegment input(InferenceRequest request, String name) {
    return request.inputs().stream()
        .filter(input -> input.name().equals(name))
        .findFirst()
        .orElseThrow()
        .data();
  }

  /** The first number of an answer. */
  private float step(int sequence, boolean start, int rows) {
    MemorySegment x = Arena.ofAuto().allocate(rows * ROW, 64);
    x.set(JAVA_FLOAT, 0, 1);
    MemorySegment y = Arena.ofAuto().allocate(rows * ROW, 64);
    Ticket _ =
        sequences.submit(
            new InferenceRequest(
                model.version(),
                List.of(new InputTensor("x", TensorType.FP32, Shape.of(rows, WIDTH), x)),
                List.of("y"),
                OptionalLong.empty(),
                Priority.ONLINE,
                Optional.of(new SequenceStep("s" + sequence, start, false))),
            new ResultHandler() {
              @Override
              public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
                return y;
              }

              @Override
              public void completed(InferenceTimings timings) {}

              @Override
              public void failed(StatusException error) {
                throw error;
              }
            });
    return y.get(JAVA_FLOAT, 0);
  }

  /** Begins sequences until one finds no room; answers the rows of each. */
  private List<Integer> fill(Random random) {
    List<Integer> rows = new ArrayList<>();
    while (true) {
      int of = 1 + random.nextInt(4);
      try {
        assertEquals(1, step(rows.size(), true, of));
        rows.add(of);
      } catch (StatusException e) {
        assertEquals(Status.INSUFFICIENT_MEMORY, e.status(), e.getMessage());
        return rows;
      }
    }
  }

  /** In turn, at random, and of sizes that do not fit each other's places. */
  @RepeatedTest(20)
  void stepsOfAll_areMade_thoughTheHostIsFull() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    List<Integer> rows = fill(random);
    int[] steps = new int[rows.size()];
    for (int i = 0; i < 400; i++) {
      int which = i < 200 ? i % steps.length : random.nextInt(steps.length);
      steps[which]++;
      assertEquals(
          1 + steps[which],
          step(which, false, rows.get(which)),
          "seed " + seed + ", step " + i + " of " + rows);
      long onHost = sequences.overview().writtenOutBytes();
      assertTrue(onHost < HOST + 4 * ROW, () -> onHost + " on the host");
    }
  }
}
