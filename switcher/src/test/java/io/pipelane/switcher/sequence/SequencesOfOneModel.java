package io.pipelane.switcher.sequence;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.modelstore.repository.ModelOptions.StateInput;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.BoundedReservations;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import io.pipelane.switcher.sequence.Sequences.MakingRoom;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Sequences of a model whose runs are the test's own, which has all given back in the end. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("NullAway.Init") // begin() fills the fields.
abstract class SequencesOfOneModel {
  static final int WIDTH = 16;

  /** Of a state of one row. */
  static final long ROW = WIDTH * (long) Float.BYTES;

  @TempDir Path folder;
  final BoundedReservations working;
  ImportedModel model;
  Sequences sequences;
  private final long workingBytes;
  private final long hostBytes;

  SequencesOfOneModel(long workingBytes, long hostBytes) {
    this.workingBytes = workingBytes;
    this.hostBytes = hostBytes;
    this.working = new BoundedReservations(workingBytes);
  }

  @BeforeEach
  void begin() throws Exception {
    model = TestImports.of(TestModels.recurrent(WIDTH), "m", folder);
    sequences =
        new Sequences(
            device(),
            working,
            working,
            hostBytes,
            this::giveUnasked,
            makingRoom(),
            new StepBounds(1_000, 1 << 20),
            this::run,
            System::nanoTime);
    sequences.agree(model, Map.of("t", new StateInput("s")));
  }

  @AfterEach
  void everythingIsGivenBack() {
    sequences.forget(model.version());
    sequences.close();
    assertEquals(workingBytes, working.freeBytes());
    assertEquals(0, sequences.overview().writtenOutBytes());
  }

  /** Runs the model. */
  abstract Ticket run(InferenceRequest request, ResultHandler handler);

  DeviceStates device() {
    return DeviceStates.ON_HOST;
  }

  boolean giveUnasked(long wantedBytes) {
    return false;
  }

  MakingRoom makingRoom() {
    return (_, _) -> {};
  }

  /** One whose input is zeros but for the first number. */
  InferenceRequest request(SequenceStep step, Priority priority, int rows, float first) {
    MemorySegment x = Arena.ofAuto().allocate(rows * ROW, 64);
    x.set(JAVA_FLOAT, 0, first);
    return new InferenceRequest(
        model.version(),
        List.of(new InputTensor("x", TensorType.FP32, Shape.of(rows, WIDTH), x)),
        List.of("y"),
        OptionalLong.empty(),
        priority,
        Optional.of(step));
  }

  static InputTensor input(InferenceRequest request, String name) {
    return request.inputs().stream()
        .filter(input -> input.name().equals(name))
        .findFirst()
        .orElseThrow();
  }
}
