package io.pipelane.switcher.sequence;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Reservations;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.modelstore.repository.ModelOptions.StateInput;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Sequences in host memory that nobody has sent a step of for long; there is room for one. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ExpiredStatesTest {
  private static final int WIDTH = 16;
  private static final long STATE = WIDTH * (long) Float.BYTES;

  @TempDir Path folder;
  private final AtomicLong now = new AtomicLong();
  private final AtomicLong reserved = new AtomicLong();
  private final Set<Thread> givers = ConcurrentHashMap.newKeySet();

  private final class RoomForOne implements Reservations {
    @Override
    public boolean tryReservePersistent(long bytes) {
      if (reserved.addAndGet(bytes) <= 2 * STATE) {
        return true;
      }
      reserved.addAndGet(-bytes);
      return false;
    }

    @Override
    public void releasePersistent(long bytes) {
      givers.add(Thread.currentThread());
      reserved.addAndGet(-bytes);
    }
  }

  private static final class Unlimited implements Reservations {
    @Override
    public boolean tryReservePersistent(long bytes) {
      return true;
    }

    @Override
    public void releasePersistent(long bytes) {}
  }

  private static Ticket run(InferenceRequest request, ResultHandler handler) {
    for (String output : request.outputs()) {
      handler.place(output, TensorType.FP32, Shape.of(1, WIDTH), STATE).fill((byte) 0);
    }
    handler.completed(new InferenceTimings(0, 0, 0, 1, 0));
    return Ticket.ENDED;
  }

  /** Answers are nobody's. */
  private static class Discarding implements ResultHandler {
    private final MemorySegment y = Arena.ofAuto().allocate(STATE, 64);

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
  }

  private static InferenceRequest beginning(ImportedModel model, String sequence) {
    return step(model, new SequenceStep(sequence, true, false));
  }

  private static InferenceRequest step(ImportedModel model, SequenceStep step) {
    MemorySegment x = Arena.ofAuto().allocate(STATE, JAVA_FLOAT.byteAlignment());
    return new InferenceRequest(
        model.version(),
        List.of(new InputTensor("x", TensorType.FP32, Shape.of(1, WIDTH), x)),
        List.of("y"),
        OptionalLong.empty(),
        Priority.ONLINE,
        Optional.of(step));
  }

  private Sequences of(ImportedModel model) {
    return of(model, new RoomForOne(), ExpiredStatesTest::run);
  }

  private Sequences of(
      ImportedModel model,
      Reservations working,
      BiFunction<InferenceRequest, ResultHandler, Ticket> queue) {
    Sequences sequences =
        new Sequences(
            DeviceStates.ON_HOST,
            working,
            working,
            0,
            _ -> false,
            (_, _) -> {},
            new StepBounds(1_000, 1 << 20),
            queue,
            now::get);
    sequences.agree(model, Map.of("t", new StateInput("s")));
    return sequences;
  }

  @Test
  void roomOfAnExpiredState_isThereForTheStepThatHasItExpire() throws Exception {
    ImportedModel model = TestImports.of(TestModels.recurrent(WIDTH), "m", folder);
    try (Sequences sequences = of(model)) {
      Ticket _ = sequences.submit(beginning(model, "first"), new Discarding());
      now.addAndGet(Duration.ofMinutes(2).toNanos());
      Ticket _ = sequences.submit(beginning(model, "second"), new Discarding());
      assertEquals(1, sequences.overview().sequences());
      sequences.forget(model.version());
    }
    assertEquals(0, reserved.get());
    assertEquals(Set.of(Thread.currentThread()), givers);
  }

  @Test
  void roomOfAnExpiredState_isThereForOtherWork_withoutAStepOfAnySequence() throws Exception {
    ImportedModel model = TestImports.of(TestModels.recurrent(WIDTH), "m", folder);
    try (Sequences sequences = of(model)) {
      Ticket _ = sequences.submit(beginning(model, "left"), new Discarding());
      now.addAndGet(Duration.ofSeconds(30).toNanos());
      assertFalse(sequences.writeOut(Priority.OFFLINE));
      now.addAndGet(Duration.ofMinutes(2).toNanos());
      assertTrue(sequences.writeOut(Priority.OFFLINE));
      assertEquals(0, reserved.get());
      assertFalse(sequences.writeOut(Priority.OFFLINE));
      sequences.forget(model.version());
    }
  }

  /** Steps are a use to their end; writing it out is none. */
  @Test
  void sequence_isIdleFromTheEndOfItsLastStep() throws Exception {
    ImportedModel model = TestImports.of(TestModels.recurrent(WIDTH), "m", folder);
    Duration runs = Duration.ofSeconds(61);
    BiFunction<InferenceRequest, ResultHandler, Ticket> slow =
        (request, handler) -> {
          now.addAndGet(runs.toNanos());
          return run(request, handler);
        };
    try (Sequences sequences = of(model, new Unlimited(), slow)) {
      Ticket _ = sequences.submit(beginning(model, "first"), new Discarding());
      Ticket _ = sequences.submit(beginning(model, "second"), new Discarding());
      assertEquals(2, sequences.overview().sequences());
      now.addAndGet(Duration.ofSeconds(59).toNanos());
      Ticket _ =
          sequences.submit(step(model, new SequenceStep("second", false, false)), new Discarding());
      now.addAndGet(Duration.ofSeconds(59).toNanos());
      assertEquals(1, sequences.overview().sequences());
      assertFalse(sequences.writeOut(Priority.ONLINE), "there is no room on the host");
      now.addAndGet(Duration.ofSeconds(1).toNanos());
      assertTrue(sequences.writeOut(Priority.ONLINE), "it has expired");
      assertEquals(0, sequences.overview().sequences());
      sequences.forget(model.version());
    }
  }

  /** The order by which sequences expire is that of their use, whoever looks for one meanwhile. */
  @Test
  void sequenceThatIsLookedFor_expiresAsIfItWereNot() throws Exception {
    ImportedModel model = TestImports.of(TestModels.recurrent(WIDTH), "m", folder);
    try (Sequences sequences = of(model, new Unlimited(), ExpiredStatesTest::run)) {
      Ticket _ = sequences.submit(beginning(model, "first"), new Discarding());
      now.addAndGet(Duration.ofSeconds(30).toNanos());
      Ticket _ = sequences.submit(beginning(model, "second"), new Discarding());
      assertTrue(sequences.find(model.version(), "", "first").isPresent());
      now.addAndGet(Duration.ofSeconds(30).toNanos());
      assertTrue(sequences.writeOut(Priority.OFFLINE));
      assertEquals(1, sequences.overview().sequences());
      sequences.forget(model.version());
    }
  }

  @ParameterizedTest
  @CsvSource({"UNAVAILABLE, false, 1", "CANCELLED, false, 0", "UNAVAILABLE, true, 0"})
  void endThatFails_leavesTheStateToBeSentAgain_unlessItsClientHasGone(
      Status failure, boolean start, int left) throws Exception {
    ImportedModel model = TestImports.of(TestModels.recurrent(WIDTH), "m", folder);
    List<Status> told = new ArrayList<>();
    ResultHandler teller =
        new Discarding() {
          @Override
          public void failed(StatusException error) {
            told.add(error.status());
          }
        };
    BiFunction<InferenceRequest, ResultHandler, Ticket> queue =
        (request, handler) -> {
          if (!request.sequence().orElseThrow().end() || !told.isEmpty()) {
            return run(request, handler);
          }
          handler.failed(new StatusException(failure, "on demand"));
          return Ticket.ENDED;
        };
    try (Sequences sequences = of(model, new Unlimited(), queue)) {
      Ticket _ = sequences.submit(beginning(model, "s"), new Discarding());
      InferenceRequest end = step(model, new SequenceStep("s", start, true));
      Ticket _ = sequences.submit(end, teller);
      assertEquals(List.of(failure), told);
      assertEquals(left, sequences.overview().sequences());
      if (left > 0) {
        Ticket _ = sequences.submit(end, new Discarding());
        assertEquals(0, sequences.overview().sequences());
      }
      sequences.forget(model.version());
    }
  }
}
