package io.pipelane.switcher.sequence;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Reservations;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
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
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

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

  private static Ticket run(InferenceRequest request, ResultHandler handler) {
    for (String output : request.outputs()) {
      handler.place(output, TensorType.FP32, Shape.of(1, WIDTH), STATE).fill((byte) 0);
    }
    handler.completed(new InferenceTimings(0, 0, 0, 1, 0));
    return Ticket.ENDED;
  }

  /** Answers are nobody's. */
  private static final class Discarding implements ResultHandler {
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
    MemorySegment x = Arena.ofAuto().allocate(STATE, JAVA_FLOAT.byteAlignment());
    return new InferenceRequest(
        model.version(),
        List.of(new InputTensor("x", TensorType.FP32, Shape.of(1, WIDTH), x)),
        List.of("y"),
        OptionalLong.empty(),
        Priority.ONLINE,
        Optional.of(new SequenceStep(sequence, true, false)));
  }

  private Sequences of(ImportedModel model) {
    Reservations working = new RoomForOne();
    Sequences sequences =
        new Sequences(
            DeviceStates.ON_HOST,
            working,
            working,
            0,
            _ -> false,
            (_, _) -> {},
            new StepBounds(1_000, 1 << 20),
            ExpiredStatesTest::run,
            now::get);
    sequences.agree(model, Map.of("t", "s"));
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
}
