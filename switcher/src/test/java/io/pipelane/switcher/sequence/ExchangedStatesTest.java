package io.pipelane.switcher.sequence;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import io.pipelane.switcher.sequence.Sequences.MakingRoom;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

/** Sequences of which as many have begun as working memory and host memory hold together. */
class ExchangedStatesTest extends SequencesOfOneModel {
  private static final long WORKING = 19 * ROW;
  private static final long HOST = 12 * ROW;

  private final Deque<Runnable> held = new ArrayDeque<>();
  private boolean holding;
  private long heldByRun;
  private long sessionBytes;

  /** Where states change their size with each step. */
  private Optional<IntSupplier> resizing = Optional.empty();

  ExchangedStatesTest() {
    super(WORKING, HOST);
  }

  @Override
  MakingRoom makingRoom() {
    return new SessionsThatMayGo();
  }

  /** Idle sessions, which are closed for who asks again. */
  private final class SessionsThatMayGo implements MakingRoom {
    @Override
    public boolean canMakeRoom(long bytes, long leavingBytes, Priority inFavourOf) {
      return working.freeBytes() + sessionBytes + leavingBytes >= bytes;
    }

    @Override
    public void makeRoom(long bytes, Priority inFavourOf) {
      if (working.freeBytes() + sessionBytes >= bytes) {
        working.releasePersistent(sessionBytes);
        sessionBytes = 0;
      }
    }
  }

  @Override
  Ticket run(InferenceRequest request, ResultHandler handler) {
    heldByRun = request.place().stateBytes().getAsLong();
    if (holding) {
      held.add(() -> compute(request, handler));
    } else {
      compute(request, handler);
    }
    return Ticket.ENDED;
  }

  private void compute(InferenceRequest request, ResultHandler handler) {
    InputTensor s = input(request, "s");
    InputTensor x = input(request, "x");
    Shape next = resizing.map(rows -> Shape.of(rows.getAsInt(), WIDTH)).orElse(s.shape());
    try {
      for (String output : request.outputs()) {
        Shape shape = output.equals("t") ? next : x.shape();
        MemorySegment place =
            handler.place(output, TensorType.FP32, shape, shape.elements() * Float.BYTES);
        place.set(JAVA_FLOAT, 0, s.data().get(JAVA_FLOAT, 0) + x.data().get(JAVA_FLOAT, 0));
      }
    } catch (StatusException e) {
      handler.failed(e);
      return;
    }
    handler.completed(new InferenceTimings(0, 0, 0, 1, 0));
  }

  /** The first number of an answer. */
  private float step(int sequence, boolean start, int rows) {
    MemorySegment y = Arena.ofAuto().allocate(rows * ROW, 64);
    Ticket _ =
        sequences.submit(
            request(new SequenceStep("s" + sequence, start, false), Priority.ONLINE, rows, 1),
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
    long onHost = sequences.overview().writtenOutBytes();
    assertTrue(onHost <= HOST + WORKING / 2, () -> onHost + " on the host");
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
        assertEquals(Status.UNAVAILABLE, e.status(), e.getMessage());
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
    }
  }

  /** What is in a step cannot leave, so that exchanges do not succeed; others begin, and grow. */
  @RepeatedTest(50)
  void exchangesThatDoNotSucceed_leaveRoomForWhoComesBack() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    List<Integer> rows = fill(random);
    for (int round = 0; round < 4; round++) {
      IntSupplier size = () -> 1 + random.nextInt(4);
      resizing = random.nextBoolean() ? Optional.of(size) : Optional.empty();
      holding = true;
      for (int i = random.nextInt(4); i > 0; i--) {
        int which = random.nextInt(rows.size());
        stepIfThereIsRoom(which, false, rows.get(which));
      }
      holding = false;
      for (int which = 0; which < rows.size(); which++) {
        stepIfThereIsRoom(which, false, rows.get(which));
      }
      int of = 1 + random.nextInt(4);
      if (stepIfThereIsRoom(rows.size(), true, of)) {
        rows.add(of);
      }
      while (!held.isEmpty()) {
        runHeld();
      }
      resizing = Optional.empty();
      for (int which = 0; which < rows.size(); which++) {
        step(which, false, rows.get(which));
      }
    }
    assertTrue(rows.size() > 1, "seed " + seed);
  }

  /** Else many small ones could begin, and all become large again. */
  @Test
  void statesThatShrink_keepTheirRoom() {
    int begun = 0;
    resizing = Optional.of(() -> 1);
    while (stepIfThereIsRoom(begun, true, 4)) {
      begun++;
    }
    assertEquals(5, begun); // 20 rows of 12 on the host and 9, of two copies each, beside it.
    resizing = Optional.of(() -> 4);
    for (int i = 0; i < 10 * begun; i++) {
      step(i % begun, false, 4);
    }
  }

  /** A run that it is in the way of can be told that asking again is of no use. */
  @Test
  void runsAreToldWhatTheirStateHolds_whateverItsSizeIsNow() {
    for (int rows : new int[] {4, 1, 2, 3}) {
      resizing = Optional.of(() -> rows);
      step(0, rows == 4, 4);
      assertEquals(8 * ROW, heldByRun);
      assertEquals(WORKING - 8 * ROW, working.freeBytes());
    }
  }

  /** A lane has the rest, say. */
  @Test
  void stateThatCannotComeBack_leavesOthersWhereTheyAre() {
    step(0, true, 4);
    assertTrue(sequences.writeOut(Priority.ONLINE));
    step(1, true, 1);
    assertTrue(working.tryReservePersistent(12 * ROW));
    for (int i = 0; i < 3; i++) {
      assertFalse(stepIfThereIsRoom(0, false, 4));
      assertEquals(1, sequences.overview().timesWrittenOut());
    }
    working.releasePersistent(ROW);
    assertTrue(stepIfThereIsRoom(0, false, 4));
    assertEquals(2, sequences.overview().timesWrittenOut());
    working.releasePersistent(11 * ROW);
  }

  @Test
  void stateThatCannotBegin_leavesOthersWhereTheyAre() {
    step(0, true, 1);
    step(1, true, 1);
    assertTrue(working.tryReservePersistent(12 * ROW));
    assertFalse(stepIfThereIsRoom(2, true, 4));
    assertEquals(0, sequences.overview().timesWrittenOut());
    working.releasePersistent(ROW);
    assertTrue(stepIfThereIsRoom(2, true, 4));
    assertEquals(2, sequences.overview().timesWrittenOut());
    working.releasePersistent(11 * ROW);
  }

  @Test
  void stateThatCannotGrow_leavesOthersWhereTheyAre() {
    step(0, true, 1);
    step(1, true, 1);
    assertTrue(working.tryReservePersistent(12 * ROW));
    resizing = Optional.of(() -> 4);
    assertFalse(stepIfThereIsRoom(1, false, 1));
    assertEquals(0, sequences.overview().timesWrittenOut());
    working.releasePersistent(ROW);
    assertTrue(stepIfThereIsRoom(1, false, 1));
    assertEquals(1, sequences.overview().timesWrittenOut());
    working.releasePersistent(11 * ROW);
  }

  /** Of three that would have to leave the host has room for one. */
  @Test
  void stateThatCannotBeginForTheHost_leavesOthersWhereTheyAre() {
    for (int i = 0; i < 5; i++) {
      step(i, true, i == 0 ? 4 : 3);
      if (i < 2) {
        assertTrue(sequences.writeOut(Priority.ONLINE));
      }
    }
    assertFalse(stepIfThereIsRoom(5, true, 4));
    assertEquals(2, sequences.overview().timesWrittenOut());
    assertTrue(stepIfThereIsRoom(5, true, 3));
    assertEquals(3, sequences.overview().timesWrittenOut());
  }

  @Test
  void stateThatComesBack_hasIdleSessionsGoBesideStates() {
    step(0, true, 4);
    assertTrue(sequences.writeOut(Priority.ONLINE));
    step(1, true, 1);
    sessionBytes = 12 * ROW;
    assertTrue(working.tryReservePersistent(sessionBytes));
    assertFalse(stepIfThereIsRoom(0, false, 4));
    assertTrue(stepIfThereIsRoom(0, false, 4));
  }

  private void runHeld() {
    try {
      held.remove().run();
    } catch (StatusException e) { // It has grown, and finds no room for that.
      assertEquals(Status.UNAVAILABLE, e.status(), e.getMessage());
    }
  }

  private boolean stepIfThereIsRoom(int sequence, boolean start, int rows) {
    try {
      step(sequence, start, rows);
      return true;
    } catch (StatusException e) {
      assertEquals(Status.UNAVAILABLE, e.status(), e.getMessage());
      return false;
    }
  }
}
