package io.pipelane.switcher.kept;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.execution.Reservations;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.kept.KeptOverview.Obstacle;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Memory for tensors between two runs, on a device whose memory is the host's. */
class KeptTensorsTest {
  private static final long BYTES = KeptTensors.LEAST_BYTES;
  private static final long MOST = 4 * BYTES;
  private static final ModelVersion READER = new ModelVersion("reader", 1);

  private final Set<ModelVersion> waiting = new HashSet<>();
  private long reserved;
  private long capacity = 100 * BYTES;
  private boolean onDevice;
  private @Nullable Thread reservedBy;
  private boolean driverHasNone;
  private boolean driverFails;
  private int live;

  private final Reservations working =
      new Reservations() {
        @Override
        public boolean tryReservePersistent(long bytes) {
          reservedBy = Thread.currentThread();
          boolean fits = reserved + bytes <= capacity;
          reserved += fits ? bytes : 0;
          return fits;
        }

        @Override
        public void releasePersistent(long bytes) {
          reserved -= bytes;
        }
      };

  private final DeviceStates memory =
      new DeviceStates() {
        @Override
        public boolean areOnDevice() {
          return onDevice;
        }

        @Override
        public State take(long bytes) {
          if (driverHasNone) {
            throw new StatusException(Status.INSUFFICIENT_MEMORY, "the driver has none");
          }
          live++;
          State state = DeviceStates.ON_HOST.take(bytes);
          return new State() {
            @Override
            public MemorySegment memory() {
              return state.memory();
            }

            @Override
            public void read(MemorySegment host) {
              state.read(host);
            }

            @Override
            public void write(MemorySegment host) {
              state.write(host);
            }

            @Override
            public void close() {
              live--;
              state.close();
              if (driverFails) {
                throw new StatusException(Status.DEVICE_FAILURE, "the driver fails");
              }
            }
          };
        }
      };

  private final KeptTensors kept =
      new KeptTensors("device", memory, working, MOST, waiting::contains);
  private final Deque<KeptTensor> tensors = new ArrayDeque<>();

  private final Keeper keeper =
      new Keeper() {
        @Override
        public Set<ModelVersion> readers(String device, String output) {
          return output.equals("unread") ? Set.of() : Set.of(READER);
        }

        @Override
        public void keep(String output, TensorType type, Shape shape, KeptTensor tensor) {
          assertEquals("device", tensor.device());
          tensors.add(tensor);
        }
      };

  private Optional<MemorySegment> place(String output, TensorType type, long bytes) {
    return kept.place(keeper, output, type, Shape.of(bytes), bytes);
  }

  private Optional<MemorySegment> place(long bytes) {
    return place("y", TensorType.UINT8, bytes);
  }

  private Optional<MemorySegment> placeAtOnce(long bytes) {
    return kept.placeAtOnce(keeper, "y", TensorType.UINT8, Shape.of(bytes), bytes);
  }

  private void closeFirst() {
    tensors.removeFirst().close();
  }

  @AfterEach
  void nothingIsLeft() {
    tensors.forEach(KeptTensor::close);
    assertEquals(0, kept.overview().lentBytes());
    assertEquals(kept.overview().takenBytes(), reserved);
    kept.close();
    assertEquals(0, reserved);
    assertEquals(0, live);
  }

  @Test
  void idleBytes_areWhatWouldBeGivenBack_andAskingGivesNothingBack() {
    assertEquals(0, kept.idleBytes());
    assertTrue(place(2 * BYTES).isPresent());
    assertTrue(place(BYTES).isPresent());
    closeFirst();
    assertEquals(2 * BYTES, kept.idleBytes());
    assertEquals(3 * BYTES, reserved);
    assertTrue(kept.giveIdleBack());
    assertEquals(0, kept.idleBytes());
    assertEquals(BYTES, reserved);
  }

  @Test
  void place_tensor_isChargedAndUsedAgain() {
    MemorySegment first = place(2 * BYTES).orElseThrow();
    assertEquals(2 * BYTES, first.byteSize());
    assertEquals(2 * BYTES, reserved);
    KeptTensor tensor = tensors.getFirst();
    assertSame(first, tensor.input("x", TensorType.UINT8, Shape.of(2 * BYTES)).data());
    assertFalse(tensor.input("x", TensorType.UINT8, Shape.of(2 * BYTES)).onDevice());
    closeFirst();
    tensor.close();
    assertEquals(new KeptOverview(0, 2 * BYTES, 1, Map.of()), kept.overview());

    MemorySegment second = place(2 * BYTES - 1).orElseThrow();
    assertEquals(first.address(), second.address());
    assertEquals(2 * BYTES - 1, second.byteSize());
    assertEquals(1, live);
  }

  @Test
  void place_whatNobodyReadsOrIsSmallOrOfStrings_isNotKept() {
    assertTrue(place("unread", TensorType.UINT8, BYTES).isEmpty());
    assertTrue(place("y", TensorType.BYTES, BYTES).isEmpty());
    assertTrue(place(BYTES - 1).isEmpty());
    assertEquals(KeptOverview.NONE, kept.overview());
  }

  @Test
  void place_beyondTheLimit_hasIdleBlocksGoAndThenFails() {
    assertTrue(place(3 * BYTES).isPresent());
    closeFirst();
    assertTrue(place(BYTES).isPresent()); // Less than half of the idle block.
    assertEquals(4 * BYTES, reserved);
    assertTrue(place(BYTES).isPresent());
    assertEquals(2 * BYTES, reserved, "the idle one has gone");
    assertTrue(place(2 * BYTES).isPresent());
    assertTrue(place(BYTES).isEmpty());
    assertEquals(Map.of(Obstacle.FULL, 1L), kept.overview().notKept());
    closeFirst();
    assertTrue(place(BYTES).isPresent());
  }

  @Test
  void place_withoutRoomInWorkingMemoryOrTheDriver_fails() {
    capacity = BYTES;
    assertTrue(place(2 * BYTES).isEmpty());
    assertEquals(0, reserved);
    capacity = 100 * BYTES;
    driverHasNone = true;
    assertTrue(place(2 * BYTES).isEmpty());
    assertEquals(0, reserved);
    driverHasNone = false;
    assertTrue(place(4 * BYTES).isPresent(), "what failed is not counted");
    assertEquals(Map.of(Obstacle.FULL, 2L), kept.overview().notKept());
  }

  /** Idle blocks of another size have all that there may be. */
  @Test
  void placeAtOnce_nothingOfItsSizeIsIdle_hasTheNextFindSome() {
    assertTrue(place(MOST).isPresent());
    closeFirst();
    assertTrue(placeAtOnce(BYTES).isEmpty());
    while (kept.idleBytes() != BYTES) {
      Thread.onSpinWait();
    }
    assertNotSame(Thread.currentThread(), reservedBy);
    assertTrue(placeAtOnce(BYTES).isPresent());
    assertEquals(new KeptOverview(BYTES, BYTES, 2, Map.of(Obstacle.FULL, 1L)), kept.overview());
  }

  @Test
  void placeAtOnce_moreThanThereMayEverBe_hasNothingGiveWay() {
    assertTrue(place(BYTES).isPresent());
    closeFirst();
    assertTrue(placeAtOnce(MOST + 1).isEmpty());
    kept.close(); // Whoever has been asked has done it then.
    assertEquals(Thread.currentThread(), reservedBy);
  }

  @Test
  void place_whatIsLentLeavesTooLittle_hasNothingGiveWayInVain() {
    assertTrue(place(2 * BYTES).isPresent());
    assertTrue(place(BYTES).isPresent());
    tensors.removeLast().close();
    assertTrue(place(3 * BYTES).isEmpty());
    assertEquals(BYTES, kept.idleBytes());
    reservedBy = null;
    assertTrue(placeAtOnce(3 * BYTES).isEmpty());
    kept.close();
    assertNull(reservedBy);
  }

  /** The second asks while the block is taken that the first has asked for. */
  @Test
  void placeAtOnce_twoAskForOneSize_haveOneBlockBecomeIdle() throws Exception {
    CountDownLatch taking = new CountDownLatch(1);
    CountDownLatch taken = new CountDownLatch(1);
    AtomicInteger told = new AtomicInteger();
    KeptTensors slow =
        new KeptTensors(
            "device",
            bytes -> {
              taking.countDown();
              awaitUninterrupted(taken);
              return DeviceStates.ON_HOST.take(bytes);
            },
            working,
            MOST,
            waiting::contains);
    slow.tellWhenIdle(told::incrementAndGet);
    assertTrue(slow.placeAtOnce(keeper, "y", TensorType.UINT8, Shape.of(BYTES), BYTES).isEmpty());
    taking.await();
    assertTrue(slow.placeAtOnce(keeper, "y", TensorType.UINT8, Shape.of(BYTES), BYTES).isEmpty());
    taken.countDown();
    slow.close();
    assertEquals(1, told.get());
  }

  private static void awaitUninterrupted(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError("nobody interrupts it", e);
    }
  }

  @Test
  void giveIdleBack_freesWhatNobodyUses() {
    assertTrue(place(BYTES).isPresent());
    assertTrue(place(2 * BYTES).isPresent());
    closeFirst();
    capacity = 3 * BYTES;
    assertFalse(working.tryReservePersistent(BYTES));
    Reservations others = kept.yielding(working);
    assertTrue(others.tryReservePersistent(BYTES));
    assertEquals(2 * BYTES, kept.overview().takenBytes());
    assertFalse(others.tryReservePersistent(BYTES), "what is in use stays");
    others.releasePersistent(BYTES);
    assertFalse(kept.giveIdleBack());
  }

  @Test
  void giveIdleBack_driverFails_allAreGivenUp() {
    assertTrue(place(BYTES).isPresent());
    assertTrue(place(2 * BYTES).isPresent());
    closeFirst();
    closeFirst();
    driverFails = true;
    assertTrue(kept.giveIdleBack());
    assertEquals(0, reserved);
    assertEquals(0, live);
    assertEquals(0, kept.overview().takenBytes());
  }

  @Test
  void place_readerElsewhere_goesToTheHost() {
    kept.readOnlyBy(reader -> false);
    assertTrue(place(BYTES).isEmpty());
    assertEquals(Map.of(Obstacle.ELSEWHERE, 1L), kept.overview().notKept());
  }

  /** Those that wait are put together on the host, which cannot read a device's memory. */
  @Test
  void place_requestsOfTheReaderWait_goesToTheHostWhereThatCannotReadTheDevice() {
    waiting.add(READER);
    assertTrue(place(BYTES).isPresent());
    onDevice = true;
    assertTrue(place(BYTES).isEmpty());
    assertEquals(Map.of(Obstacle.WAITING, 1L), kept.overview().notKept());
    waiting.clear();
    assertTrue(place(BYTES).isPresent());
    KeptTensor tensor = Objects.requireNonNull(tensors.peekLast());
    assertTrue(tensor.input("x", TensorType.UINT8, Shape.of(BYTES)).onDevice());
  }

  @Test
  void place_ofRunsThatAreCutApart_goesToTheHost() {
    Keeper ofBatch =
        new Keeper() {
          @Override
          public Set<ModelVersion> readers(String device, String output) {
            return keeper.readers(device, output);
          }

          @Override
          public boolean isCutApart() {
            return true;
          }

          @Override
          public void keep(String output, TensorType type, Shape shape, KeptTensor tensor) {
            throw new AssertionError("nobody's");
          }
        };
    assertTrue(kept.place(ofBatch, "y", TensorType.UINT8, Shape.of(BYTES), BYTES).isEmpty());
    kept.notPlaced(keeper, "y", BYTES);
    kept.notPlaced(keeper, "unread", BYTES);
    assertEquals(Map.of(Obstacle.BATCHED, 2L), kept.overview().notKept());
  }
}
