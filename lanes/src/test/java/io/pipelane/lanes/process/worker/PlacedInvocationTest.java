package io.pipelane.lanes.process.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cpu.execution.WorkerRegion;
import io.pipelane.lanes.execution.ChangedPlans;
import io.pipelane.lanes.execution.StateNumber;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.lanes.process.channel.LaneMemory;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.PlacedNumber;
import io.pipelane.lanes.process.channel.PlacedTensor;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where a worker's outputs go, of a model with two, "a" and "b". */
class PlacedInvocationTest {
  private static final Shape LARGE = Shape.of(1 << 16);
  private static final Shape SMALL = Shape.of(4);
  private static final long OFFSET = 4096;

  @TempDir Path folder;
  private final Arena arena = Arena.ofConfined();
  private final MemorySegment transfers = arena.allocate(1 << 20, 4096);
  private final MemorySegment states = arena.allocate(1 << 20, 4096);
  private final WorkerRegion lane = WorkerRegion.spare(1 << 20);
  private final List<Integer> asked = new ArrayList<>();
  private long answer = OFFSET;
  private Optional<PlacedNumber> state = Optional.empty();
  private List<PlacedTensor> inputs = List.of();
  private boolean statesCannotBeMapped;

  @AfterEach
  void nothingIsLeft() {
    assertEquals(0, lane.usedBytes());
    lane.close();
    arena.close();
  }

  private static TensorSpec output(String name) {
    return new TensorSpec(name, TensorType.FP32, Shape.of(-1));
  }

  private Plan plan() throws Exception {
    Plan plan = TestImports.of(TestModels.branches(1), "branches", folder).plan();
    return ChangedPlans.withOutputs(plan, List.of(output("a"), output("b")));
  }

  private PlacedInvocation wanting(int... outputs) throws Exception {
    lane.limit(1 << 20);
    Message.Run run =
        new Message.Run(
            1,
            new LaneMemory(0, 1 << 20, 1 << 20),
            inputs,
            List.of(),
            state,
            Arrays.stream(outputs).boxed().toList(),
            WeightArrivals.ALL,
            List.of());
    return new PlacedInvocation(
        plan(),
        run,
        new ServerMemory(transfers, this::state),
        (position, output) -> {
          asked.add(output.index());
          return answer;
        },
        lane,
        bytes -> false,
        true,
        placed -> {});
  }

  private MemorySegment state(long offset, long bytes) {
    if (statesCannotBeMapped) {
      throw new StatusException(Status.DEVICE_FAILURE, "not mapped, on demand");
    }
    return states.asSlice(offset, bytes);
  }

  private static MemorySegment place(PlacedInvocation run, String name, Shape shape) {
    return run.place(name, TensorType.FP32, shape, shape.elements() * Float.BYTES);
  }

  private static PlacedTensor tensor(int index, Shape shape, long offset) {
    return new PlacedTensor(index, TensorType.FP32, shape, offset, shape.elements() * Float.BYTES);
  }

  @Test
  void place_large_isWhereTheServerSays() throws Exception {
    try (PlacedInvocation run = wanting(0)) {
      MemorySegment place = place(run, "a", LARGE);
      assertEquals(transfers.address() + OFFSET, place.address());
      assertEquals(List.of(tensor(0, LARGE, OFFSET)), run.results());
    }
    assertEquals(List.of(0), asked);
  }

  @Test
  void place_serverHasNoRoom_isInTheLaneAndOthersAreNotAskedFor() throws Exception {
    answer = Message.Placed.IN_LANE;
    try (PlacedInvocation run = wanting(0, 1)) {
      assertTrue(lane.contains(place(run, "a", LARGE)));
      assertTrue(lane.contains(place(run, "b", LARGE)));
    }
    assertEquals(List.of(0), asked);
  }

  @Test
  void place_behindASmallOne_isInTheLane() throws Exception {
    try (PlacedInvocation run = wanting(1, 0)) {
      assertTrue(lane.contains(place(run, "b", SMALL)));
      assertTrue(lane.contains(place(run, "a", LARGE)));
    }
    assertEquals(List.of(), asked);
  }

  /** As of a model some of whose outputs are computed on the host. */
  @Test
  void results_outputsCameInAnotherOrder_areInTheOrderWanted() throws Exception {
    try (PlacedInvocation run = wanting(0, 1)) {
      MemorySegment second = place(run, "b", LARGE);
      MemorySegment first = place(run, "a", SMALL);
      assertEquals(
          List.of(
              tensor(0, SMALL, first.address() - lane.address()),
              tensor(1, LARGE, second.address() - lane.address())),
          run.results());
    }
    assertEquals(List.of(), asked);
  }

  @Test
  void place_outputsBecomeAState_allAreAskedForAndWhereTheServerSays() throws Exception {
    state = Optional.of(new PlacedNumber(transfers.byteSize() + 512, 7));
    try (PlacedInvocation run = wanting(1, 0)) {
      StateNumber number = run.stateNumber().orElseThrow();
      assertEquals(states.address() + 512, number.word().address());
      assertEquals(7, number.number());
      answer = Message.Placed.IN_LANE;
      MemorySegment first = place(run, "b", SMALL);
      assertTrue(lane.contains(first));
      answer = transfers.byteSize() + 1024;
      assertEquals(states.address() + 1024, place(run, "a", SMALL).address());
      assertEquals(
          List.of(tensor(1, SMALL, first.address() - lane.address()), tensor(0, SMALL, answer)),
          run.results());
    }
    assertEquals(List.of(1, 0), asked);
  }

  @Test
  void stateCannotBeMapped_nothingOfTheLaneIsKept() throws Exception {
    inputs = List.of(tensor(0, SMALL, 0));
    state = Optional.of(new PlacedNumber(transfers.byteSize(), 1));
    statesCannotBeMapped = true;
    StatusException error = assertThrows(StatusException.class, () -> wanting(0));
    assertEquals(Status.DEVICE_FAILURE, error.status());
    statesCannotBeMapped = false;
    try (PlacedInvocation run = wanting(0)) {
      assertEquals(lane.address(), run.inputs().getFirst().data().address());
    }
  }
}
