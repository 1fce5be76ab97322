package io.pipelane.switcher.sequence;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.StateNumber;
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
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Sequences on a device that looks like one with memory of its own; what stands for it is the
 * host's, and counts what passes. A run adds its input to the state, and answers the sum.
 */
class StatesOnDeviceTest extends SequencesOfOneModel {
  /** Two copies of two states, and one of a third. */
  private static final long WORKING = 5 * ROW;

  private final CountedStates device = new CountedStates();
  private final AtomicLong unasked = new AtomicLong();
  private final List<String> roomAskedFor = new CopyOnWriteArrayList<>();
  private volatile boolean failing;
  private volatile boolean forgetsTheNumber;
  private volatile boolean hasForgotten;

  StatesOnDeviceTest() {
    super(WORKING, 100 * ROW);
  }

  @Override
  DeviceStates device() {
    return device;
  }

  @Override
  MakingRoom makingRoom() {
    return new RoomOfStates();
  }

  @AfterEach
  @Override
  void everythingIsGivenBack() {
    super.everythingIsGivenBack();
    assertEquals(0, device.live.get());
  }

  /** Room that states alone make at once. */
  private final class RoomOfStates implements MakingRoom {
    @Override
    public boolean canMakeRoom(long bytes, long leavingBytes, Priority inFavourOf) {
      return working.freeBytes() + leavingBytes >= bytes;
    }

    @Override
    public void makeRoom(long bytes, Priority inFavourOf) {
      roomAskedFor.add(inFavourOf + " " + bytes);
    }
  }

  /** A session that stands ready, say. */
  @Override
  boolean giveUnasked(long wanted) {
    long missing = wanted - working.freeBytes();
    if (missing <= 0 || unasked.get() < missing) {
      return false;
    }
    working.releasePersistent(unasked.getAndSet(0));
    return true;
  }

  /** Host memory that is said to be a device's. */
  private static final class CountedStates implements DeviceStates {
    final AtomicInteger live = new AtomicInteger();
    final AtomicLong readBytes = new AtomicLong();
    final AtomicLong writtenBytes = new AtomicLong();

    @Override
    public boolean areOnDevice() {
      return true;
    }

    @Override
    public State take(long bytes) {
      live.incrementAndGet();
      return new HostState(bytes) {
        @Override
        public void read(MemorySegment to) {
          super.read(to);
          readBytes.addAndGet(bytes);
        }

        @Override
        public void write(MemorySegment from) {
          super.write(from);
          writtenBytes.addAndGet(bytes);
        }

        @Override
        public void close() {
          super.close();
          live.decrementAndGet();
        }
      };
    }
  }

  /** A run, as a device does it. */
  @Override
  Ticket run(InferenceRequest request, ResultHandler handler) {
    assertEquals(List.of("y", "t"), request.outputs());
    MemorySegment x = data(request, "x", false);
    MemorySegment s = data(request, "s", true);
    StateNumber number = request.place().stateNumber().orElseThrow();
    assertTrue(hasForgotten || number.word().get(JAVA_INT, 0) >= number.number() - 1);
    number.word().set(JAVA_INT, 0, number.number() - 1);
    for (String output : request.outputs()) {
      MemorySegment place = handler.place(output, TensorType.FP32, Shape.of(1, WIDTH), ROW);
      for (int i = 0; i < WIDTH; i++) {
        place.setAtIndex(JAVA_FLOAT, i, x.getAtIndex(JAVA_FLOAT, i) + s.getAtIndex(JAVA_FLOAT, i));
      }
    }
    hasForgotten |= forgetsTheNumber;
    if (!forgetsTheNumber) {
      number.word().set(JAVA_INT, 0, number.number());
    }
    if (failing) {
      handler.failed(new StatusException(Status.UNAVAILABLE, "the answer is lost"));
    } else {
      handler.completed(new InferenceTimings(0, 0, 0, 1, 0));
    }
    return Ticket.ENDED;
  }

  private static MemorySegment data(InferenceRequest request, String name, boolean onDevice) {
    InputTensor input = input(request, name);
    assertEquals(onDevice, input.onDevice(), name);
    return input.data();
  }

  /** The first number of an answer. */
  private float step(String sequence, boolean start, float value) {
    return step(Priority.ONLINE, sequence, start, value);
  }

  private float step(Priority priority, String sequence, boolean start, float value) {
    return step(priority, sequence, start, value, 1);
  }

  private float step(Priority priority, String sequence, boolean start, float value, int rows) {
    Answer answer = new Answer();
    SequenceStep step = new SequenceStep(sequence, start, false);
    Ticket _ = sequences.submit(request(step, priority, rows, value), answer);
    return answer.await();
  }

  private static final class Answer implements ResultHandler {
    private final CompletableFuture<Float> first = new CompletableFuture<>();
    private final MemorySegment y = Arena.ofAuto().allocate(ROW, 64);

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      assertEquals("y", name);
      return y;
    }

    @Override
    public void completed(InferenceTimings timings) {
      first.complete(y.get(JAVA_FLOAT, 0));
    }

    @Override
    public void failed(StatusException error) {
      first.completeExceptionally(error);
    }

    float await() {
      try {
        return first.join();
      } catch (CompletionException e) {
        throw Objects.requireNonNull((StatusException) e.getCause());
      }
    }
  }

  @Test
  void steps_addUp_andNoByteIsCopied() {
    float sum = 0;
    for (int i = 0; i < 50; i++) {
      sum += i;
      assertEquals(sum, step("a", i == 0, i));
    }
    assertEquals(0, device.readBytes.get());
    assertEquals(0, device.writtenBytes.get());
  }

  @Test
  void moreThanFit_waitOnTheHostAndGoOn() {
    int count = 6;
    float[] sums = new float[count];
    for (int round = 0; round < 5; round++) {
      for (int i = 0; i < count; i++) {
        sums[i] += i + round;
        assertEquals(sums[i], step("s" + i, round == 0, i + round), "sequence " + i);
        assertTrue(working.freeBytes() >= 0);
      }
    }
    long times = sequences.overview().timesWrittenOut();
    long least = 4L * (count - 2);
    assertTrue(times >= least, times + " times");
    // With each state its number is read; it is written anew where the state comes back.
    assertEquals(times * (ROW + Integer.BYTES), device.readBytes.get());
    assertTrue(device.writtenBytes.get() >= least * (ROW + Integer.BYTES));
  }

  @Test
  void memoryThatNobodyHasAskedForYet_goesBeforeStatesDo() {
    unasked.set(2 * ROW);
    assertTrue(working.tryReservePersistent(2 * ROW));
    assertEquals(1, step("a", true, 1));
    assertEquals(2 * ROW, unasked.get(), "there was room beside it");
    assertEquals(1, step("b", true, 1));
    assertEquals(0, unasked.get());
    assertEquals(0, sequences.overview().timesWrittenOut());
  }

  @Test
  void memoryThatNobodyHasAskedForYet_isNotGivenForOneOfTwoCopies() {
    unasked.set(ROW);
    assertTrue(working.tryReservePersistent(WORKING));
    StatusException error = assertThrows(StatusException.class, () -> step("a", true, 1));
    assertEquals(Status.UNAVAILABLE, error.status(), error.getMessage());
    assertEquals(ROW, unasked.get());
    working.releasePersistent(WORKING);
  }

  @Test
  void stateThatHasNoRoom_hasOthersMakeAllThatItLacks() {
    assertTrue(working.tryReservePersistent(WORKING));
    assertThrows(StatusException.class, () -> step("a", true, 1));
    assertThrows(StatusException.class, () -> step(Priority.OFFLINE, "b", true, 1));
    working.releasePersistent(ROW);
    assertThrows(StatusException.class, () -> step("c", true, 1));
    assertEquals(
        List.of("ONLINE " + 2 * ROW, "OFFLINE " + 2 * ROW, "ONLINE " + 2 * ROW), roomAskedFor);
    working.releasePersistent(WORKING - ROW);
  }

  /** A run has the rest of the memory, say. */
  @Test
  void stateThatHasRoomForOneCopy_staysOnTheHostAndNothingIsLost() throws Exception {
    assertEquals(1, step("a", true, 1));
    assertEquals(1, read("a")); // The step has wholly ended.
    assertTrue(sequences.writeOut(Priority.ONLINE));
    assertEquals(false, sequences.writeOut(Priority.ONLINE));
    long others = WORKING - ROW;
    assertTrue(working.tryReservePersistent(others));
    StatusException error = assertThrows(StatusException.class, () -> step("a", false, 1));
    assertEquals(Status.UNAVAILABLE, error.status());
    assertEquals(WORKING - others, working.freeBytes());
    working.releasePersistent(others);
    assertEquals(3, step("a", false, 2));
  }

  @Test
  void stepWhoseAnswerIsLost_doesNotCount() throws Exception {
    assertEquals(1, step("a", true, 1));
    failing = true;
    for (int i = 0; i < 3; i++) {
      StatusException error = assertThrows(StatusException.class, () -> step("a", false, 10));
      assertEquals(Status.UNAVAILABLE, error.status());
      assertEquals(1, read("a"));
    }
    failing = false;
    assertEquals(3, step("a", false, 2));
    assertEquals(3, read("a"));
  }

  /** Somebody else has run with it, say: nothing is made of it. */
  @Test
  void stateWithAnotherNumber_isNotRead() {
    assertEquals(1, step("a", true, 1));
    forgetsTheNumber = true;
    assertEquals(2, step("a", false, 1));
    StatusException error = assertThrows(StatusException.class, () -> read("a"));
    assertEquals(Status.DEVICE_FAILURE, error.status(), error.getMessage());
    assertEquals(false, sequences.writeOut(Priority.ONLINE));
  }

  /** What it would leave counts again once it has had a step. */
  @Test
  void stateThatCannotLeave_isExpectedToStay() {
    assertEquals(1, step("a", true, 1));
    assertEquals(1, step("b", true, 1));
    assertTrue(working.tryReservePersistent(ROW));
    forgetsTheNumber = true;
    assertEquals(2, step("a", false, 1));
    forgetsTheNumber = false;
    assertEquals(2, step("b", false, 1));
    for (int i = 0; i < 3; i++) { // That a cannot leave is seen the first time.
      assertThrows(StatusException.class, () -> step(Priority.ONLINE, "c", true, 1, 2));
      assertEquals(3 + i, step("b", false, 1));
      assertEquals(1, sequences.overview().timesWrittenOut());
    }
    assertEquals(3, step("a", false, 1));
    assertEquals(1, step(Priority.ONLINE, "c", true, 1, 2));
    working.releasePersistent(ROW);
  }

  private float read(String sequence) throws Exception {
    List<Float> first = new ArrayList<>();
    boolean found =
        sequences
            .find(model.version(), "", sequence)
            .orElseThrow()
            .read(
                tensors -> {
                  assertEquals(false, tensors.getFirst().onDevice());
                  first.add(tensors.getFirst().data().get(JAVA_FLOAT, 0));
                });
    assertTrue(found);
    return first.getFirst();
  }
}
