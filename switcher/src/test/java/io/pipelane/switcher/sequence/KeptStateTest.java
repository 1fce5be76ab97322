package io.pipelane.switcher.sequence;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.BoundedReservations;
import io.pipelane.switcher.NeverFits;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A state of two tensors, of which two copies each are kept. */
class KeptStateTest {
  private static final long TENSOR = 4L * Float.BYTES;
  private static final TensorSpec ONE = new TensorSpec("one", TensorType.FP32, Shape.of(4));
  private static final TensorSpec OTHER = new TensorSpec("other", TensorType.FP32, Shape.of(4));
  private static final StatePairs PAIRS =
      new StatePairs(List.of(ONE, OTHER), Map.of("next", kept(ONE), "after", kept(OTHER)));

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void whatHasNoRoom_isAskedForWithAllThatTheStateLacks(int fitting) {
    BoundedReservations room = new BoundedReservations(4 * TENSOR);
    assertTrue(room.tryReservePersistent((4 - fitting) * TENSOR));
    List<Long> askedFor = new ArrayList<>();
    StateMemory memory = memory(DeviceStates.ON_HOST, room, new HostStates(0), askedFor::add);
    StatusException refusal =
        assertThrows(StatusException.class, () -> new KeptState(memory, PAIRS, 1, List.of()));
    assertEquals(Status.UNAVAILABLE, refusal.status(), refusal.getMessage());
    assertEquals(List.of(4 * TENSOR), askedFor);
    assertEquals(fitting * TENSOR, room.freeBytes());
  }

  @Test
  void whatNeverHasRoom_isRefusedForGood() {
    BoundedReservations room = new BoundedReservations(4 * TENSOR - 1);
    StatusException refusal =
        assertThrows(
            StatusException.class, () -> state(DeviceStates.ON_HOST, room, new HostStates(0)));
    assertEquals(Status.INSUFFICIENT_MEMORY, refusal.status(), refusal.getMessage());
    assertTrue(NeverFits.isBehind(refusal));
  }

  /** Two tensors, of which one, its bytes, both, or both copies of both are beyond a number. */
  @ParameterizedTest
  @ValueSource(longs = {1L << 62, 1L << 61, 1L << 60, 1L << 59})
  void whatHasMoreBytesThanCanBeCounted_isRefusedForGood(long elements) {
    BoundedReservations room = new BoundedReservations(4 * TENSOR);
    StateMemory memory = memory(DeviceStates.ON_HOST, room, new HostStates(0));
    for (long rows : new long[] {-1, elements / 2}) {
      TensorSpec one = new TensorSpec("one", TensorType.FP32, Shape.of(rows, 2));
      TensorSpec other = new TensorSpec("other", TensorType.FP32, Shape.of(rows, 2));
      StatePairs pairs =
          new StatePairs(List.of(one, other), Map.of("next", kept(one), "after", kept(other)));
      StatusException refusal =
          assertThrows(
              StatusException.class, () -> new KeptState(memory, pairs, elements / 2, List.of()));
      assertEquals(Status.INSUFFICIENT_MEMORY, refusal.status(), refusal.getMessage());
      assertEquals(rows > 0, NeverFits.isBehind(refusal));
      assertEquals(4 * TENSOR, room.freeBytes());
    }
  }

  @Test
  void hostWithRoomForAPart_takesNothing() {
    HostStates host = new HostStates(2 * TENSOR - 1);
    BoundedReservations room = new BoundedReservations(4 * TENSOR);
    KeptState state = state(DeviceStates.ON_HOST, room, host);
    assertFalse(state.writeOut(host::tryTake));
    assertEquals(0, host.takenBytes());
    assertEquals(0, room.freeBytes());
    assertEquals(2, state.inputs().size());
    state.close();
  }

  @Test
  void stateOfWhichNothingLeaves_takesNoHostMemory() {
    HostStates host = new HostStates(2 * TENSOR);
    FailingReads device = new FailingReads();
    KeptState state = state(device, new BoundedReservations(4 * TENSOR), host);
    device.readsUntilFailure = 1; // The number is read.
    assertThrows(StatusException.class, () -> state.writeOut(host::tryTake));
    assertEquals(0, host.takenBytes());
    state.close();
  }

  @Test
  void stateThatLeavesByHalves_leavesWhollyNextTime() {
    HostStates host = new HostStates(2 * TENSOR);
    BoundedReservations room = new BoundedReservations(4 * TENSOR);
    FailingReads device = new FailingReads();
    KeptState state = state(device, room, host);
    device.readsUntilFailure = 2; // The number, and one of both tensors.
    assertThrows(StatusException.class, () -> state.writeOut(host::tryTake));
    assertEquals(2 * TENSOR, host.takenBytes());
    assertEquals(0, room.freeBytes());
    assertFalse(state.isWrittenOut());
    assertTrue(state.lacksMemory());
    assertTrue(state.writeOut(host::tryTake));
    assertTrue(state.isWrittenOut());
    assertEquals(2 * TENSOR, host.takenBytes());
    assertEquals(4 * TENSOR, room.freeBytes());
    state.bringBack();
    assertEquals(0, host.takenBytes());
    state.close();
    assertEquals(4 * TENSOR, room.freeBytes());
  }

  @Test
  void stateThatGrows_keepsTheRoomOfItsLargest() {
    BoundedReservations room = new BoundedReservations(4 * TENSOR);
    HostStates host = new HostStates(2 * TENSOR);
    KeptState state = growing(memory(DeviceStates.ON_HOST, room, host));
    assertEquals(2 * TENSOR, room.freeBytes());
    for (int rows : new int[] {2, 2, 1, 1, 2}) {
      state.place("t", Shape.of(rows, 4), rows * TENSOR);
      state.advance();
      assertEquals(0, room.freeBytes());
      assertTrue(state.writeOut(host::tryTake));
      assertEquals(4 * TENSOR, room.freeBytes());
      assertEquals(2 * TENSOR, host.takenBytes());
      state.bringBack();
      assertEquals(0, host.takenBytes());
      assertEquals(Shape.of(rows, 4), state.inputs().getFirst().shape());
    }
    state.close();
    assertEquals(4 * TENSOR, room.freeBytes());
  }

  @ParameterizedTest
  @CsvSource({"4, UNAVAILABLE", "3, INSUFFICIENT_MEMORY"})
  void growthThatFindsNoRoom_leavesTheStateAsItWas(int tensors, Status expected) {
    BoundedReservations room = new BoundedReservations(tensors * TENSOR);
    assertTrue(room.tryReservePersistent((tensors - 2) * TENSOR));
    KeptState state = growing(memory(DeviceStates.ON_HOST, room, new HostStates(0)));
    for (int i = 0; i < 3; i++) {
      StatusException refusal =
          assertThrows(StatusException.class, () -> state.place("t", Shape.of(2, 4), 2 * TENSOR));
      assertEquals(expected, refusal.status(), refusal.getMessage());
      assertFalse(state.lacksMemory());
      state.place("t", Shape.of(1, 4), TENSOR);
      state.advance();
    }
    state.close();
    assertEquals(2 * TENSOR, room.freeBytes());
  }

  /** The one output had room, the other not. */
  @Test
  void stepThatGrowsAndFails_leavesNoRoomTaken() {
    BoundedReservations room = new BoundedReservations(12 * TENSOR);
    TensorSpec one = new TensorSpec("s", TensorType.FP32, Shape.of(-1, 4));
    TensorSpec other = new TensorSpec("u", TensorType.FP32, Shape.of(-1, 4));
    StatePairs pairs =
        new StatePairs(List.of(one, other), Map.of("t", kept(one), "v", kept(other)));
    StateMemory memory = memory(DeviceStates.ON_HOST, room, new HostStates(0));
    KeptState state = new KeptState(memory, pairs, 1, List.of());
    state.place("t", Shape.of(3, 4), 3 * TENSOR);
    assertThrows(StatusException.class, () -> state.place("v", Shape.of(4, 4), 4 * TENSOR));
    assertTrue(state.lacksMemory());
    state.bringBack();
    assertEquals(8 * TENSOR, room.freeBytes());
    state.place("t", Shape.of(1, 4), TENSOR);
    state.place("v", Shape.of(5, 4), 5 * TENSOR);
    state.advance();
    assertFalse(state.lacksMemory());
    state.close();
    assertEquals(12 * TENSOR, room.freeBytes());
  }

  /** What begins with no elements grows step by step, leaves, and comes back. */
  @Test
  void stateOfNothing_growsFromThere() {
    BoundedReservations room = new BoundedReservations(12 * TENSOR);
    HostStates host = new HostStates(4 * TENSOR);
    TensorSpec open = new TensorSpec("s", TensorType.FP32, Shape.of(-1, 4));
    StatePairs pairs =
        new StatePairs(List.of(open), Map.of("t", new KeptInput(open, Shape.of(0, 4))));
    KeptState state = new KeptState(memory(DeviceStates.ON_HOST, room, host), pairs, 3, List.of());
    assertEquals(Shape.of(0, 4), state.inputs().getFirst().shape());
    assertEquals(0, state.inputs().getFirst().data().byteSize());
    assertFalse(state.writeOut(host::tryTake), "there is nothing to be had by that");
    assertEquals(12 * TENSOR, room.freeBytes());
    for (int rows = 1; rows <= 4; rows++) {
      assertFalse(state.lacksMemory());
      state.place("t", Shape.of(rows, 4), rows * TENSOR);
      state.advance();
      assertEquals((12 - 2 * rows) * TENSOR, room.freeBytes());
      assertTrue(state.writeOut(host::tryTake));
      assertEquals(12 * TENSOR, room.freeBytes());
      state.bringBack();
      assertEquals(Shape.of(rows, 4), state.inputs().getFirst().shape());
    }
    state.close();
    assertEquals(12 * TENSOR, room.freeBytes());
  }

  private static KeptInput kept(TensorSpec spec) {
    return new KeptInput(spec, spec.shape());
  }

  private static KeptState growing(StateMemory memory) {
    TensorSpec open = new TensorSpec("s", TensorType.FP32, Shape.of(-1, 4));
    return new KeptState(
        memory, new StatePairs(List.of(open), Map.of("t", kept(open))), 1, List.of());
  }

  private static KeptState state(DeviceStates device, BoundedReservations room, HostStates host) {
    return new KeptState(memory(device, room, host), PAIRS, 1, List.of());
  }

  private static StateMemory memory(
      DeviceStates device, BoundedReservations room, HostStates host) {
    return memory(device, room, host, _ -> {});
  }

  private static StateMemory memory(
      DeviceStates device, BoundedReservations room, HostStates host, LongConsumer makeRoom) {
    return new StateMemory(
        Priority.ONLINE, device, room, host, _ -> false, _ -> false, _ -> false, makeRoom);
  }

  /** Host memory that is said to be a device's, of which one read fails. */
  private static final class FailingReads implements DeviceStates {
    int readsUntilFailure = Integer.MAX_VALUE;

    @Override
    public boolean areOnDevice() {
      return true;
    }

    @Override
    public State take(long bytes) {
      return new HostState(bytes) {
        @Override
        public void read(MemorySegment to) {
          if (readsUntilFailure-- == 0) {
            throw new StatusException(Status.DEVICE_FAILURE, "a read that fails");
          }
          super.read(to);
        }
      };
    }
  }
}
