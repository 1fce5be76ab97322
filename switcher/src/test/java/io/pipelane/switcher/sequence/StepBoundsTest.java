package io.pipelane.switcher.sequence;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
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
import io.pipelane.switcher.ForwardingHandler;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Steps of several sequences, of which four may wait, and five inputs' bytes. */
@SuppressWarnings("NullAway.Init") // begin() fills the fields.
class StepBoundsTest {
  private static final int WIDTH = 16;
  private static final long INPUT = WIDTH * (long) Float.BYTES;

  @TempDir Path folder;
  private final Deque<Run> underWay = new ArrayDeque<>();
  private final Set<String> begun = new HashSet<>();
  private ImportedModel model;
  private Sequences sequences;

  private record Run(InferenceRequest request, ResultHandler handler) {}

  private static final class Plenty implements Reservations {
    @Override
    public boolean tryReservePersistent(long bytes) {
      return true;
    }

    @Override
    public void releasePersistent(long bytes) {}
  }

  /** Answers are nobody's. */
  private static final class Discarding implements ResultHandler {
    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      return Arena.ofAuto().allocate(byteSize, 64);
    }

    @Override
    public void completed(InferenceTimings timings) {}

    @Override
    public void failed(StatusException error) {}
  }

  @BeforeEach
  void begin() throws Exception {
    model = TestImports.of(TestModels.recurrent(WIDTH), "m", folder);
    sequences =
        new Sequences(
            DeviceStates.ON_HOST,
            new Plenty(),
            new Plenty(),
            0,
            _ -> false,
            (_, _) -> {},
            new StepBounds(4, 5 * INPUT),
            this::run,
            () -> 0);
    sequences.agree(model, Map.of("t", new StateInput("s")));
  }

  @AfterEach
  void end() {
    sequences.close();
  }

  private Ticket run(InferenceRequest request, ResultHandler handler) {
    underWay.add(new Run(request, handler));
    return Ticket.ENDED;
  }

  private void endOne() {
    Run ended = underWay.remove();
    for (String output : ended.request.outputs()) {
      MemorySegment place = ended.handler.place(output, TensorType.FP32, Shape.of(1, WIDTH), INPUT);
      place.fill((byte) 0);
    }
    ended.handler.completed(new InferenceTimings(0, 0, 0, 1, 0));
  }

  private InferenceRequest request(String sequence, Priority priority, int inputs) {
    MemorySegment x = Arena.ofAuto().allocate(INPUT, 64);
    return new InferenceRequest(
        model.version(),
        Collections.nCopies(inputs, new InputTensor("x", TensorType.FP32, Shape.of(1, WIDTH), x)),
        List.of("y"),
        OptionalLong.empty(),
        priority,
        Optional.of(new SequenceStep(sequence, begun.add(sequence), false)));
  }

  private InferenceRequest request(int inputs) {
    return request("a", Priority.ONLINE, inputs);
  }

  private Ticket submit(String sequence, Priority priority) {
    return sequences.submit(request(sequence, priority, 1), new Discarding());
  }

  private Ticket online(String sequence) {
    return submit(sequence, Priority.ONLINE);
  }

  private void requireFull(String sequence, Priority priority) {
    StatusException error = assertThrows(StatusException.class, () -> submit(sequence, priority));
    assertEquals(Status.UNAVAILABLE, error.status());
    assertNotNull(error.retryAfter());
    assertTrue(
        String.valueOf(error.getMessage()).contains("queue.max-requests is 4"), error.getMessage());
  }

  @Test
  void steps_beyondTheCount_areRefusedUntilOthersWaitNoLonger() {
    Ticket _ = online("a");
    Ticket _ = online("b");
    for (int i = 0; i < 4; i++) {
      Ticket _ = online(i % 2 == 0 ? "a" : "b");
    }
    requireFull("a", Priority.ONLINE);
    Ticket _ = online("c"); // It has nothing to wait for.
    requireFull("c", Priority.ONLINE);
    endOne();
    Ticket _ = online("c");
    requireFull("b", Priority.ONLINE);
    while (!underWay.isEmpty()) {
      endOne();
    }
    for (int i = 0; i < 5; i++) {
      Ticket _ = online("a");
    }
    requireFull("a", Priority.ONLINE);
  }

  @Test
  void step_thatIsCancelledInLine_makesRoom() {
    Ticket _ = online("a");
    Ticket first = online("a");
    for (int i = 0; i < 3; i++) {
      Ticket _ = online("a");
    }
    requireFull("a", Priority.ONLINE);
    first.cancel();
    Ticket _ = online("a");
    requireFull("a", Priority.ONLINE);
  }

  /** Whoever takes memory for what begins a sequence takes no more as the service stops. */
  @Test
  void stepsThatWaitAsTheServiceStops_areToldSo() {
    Ticket _ = online("a");
    begun.clear();
    List<StatusException> failures = new ArrayList<>();
    Ticket _ =
        sequences.submit(
            request("a", Priority.ONLINE, 1),
            new ForwardingHandler() {
              @Override
              public ResultHandler handler() {
                return new Discarding();
              }

              @Override
              public void failed(StatusException error) {
                failures.add(error);
              }
            });
    sequences.close();
    endOne();
    assertEquals(
        List.of(Status.UNAVAILABLE), failures.stream().map(StatusException::status).toList());
  }

  @Test
  void steps_ofOfflineWork_leaveHalfToOnlineOnes() {
    Ticket _ = submit("a", Priority.OFFLINE);
    Ticket _ = submit("a", Priority.OFFLINE);
    Ticket _ = submit("a", Priority.OFFLINE);
    requireFull("a", Priority.OFFLINE);
    Ticket _ = online("b");
    Ticket _ = online("b");
    Ticket _ = online("b");
    requireFull("b", Priority.ONLINE);
  }

  @Test
  void bounds_bytesOfInputs_count() {
    StepBounds bounds = new StepBounds(4, 5 * INPUT);
    bounds.enter(request(4));
    assertThrows(StatusException.class, () -> bounds.enter(request(2)));
    bounds.enter(request(1));
    bounds.leave(request(4));
    bounds.leave(request(1));
    StatusException never = assertThrows(StatusException.class, () -> bounds.enter(request(6)));
    assertEquals(Status.TOO_LARGE, never.status());
    bounds.enter(request(5));
    assertThrows(StatusException.class, () -> bounds.enter(request(1)));
  }
}
