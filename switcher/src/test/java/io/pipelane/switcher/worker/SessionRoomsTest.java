package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.kept.Keeper;
import io.pipelane.switcher.kept.KeptTensor;
import io.pipelane.switcher.kept.KeptTensors;
import io.pipelane.switcher.memory.Structure;
import io.pipelane.switcher.memory.StructureRange;
import io.pipelane.switcher.worker.SessionRooms.Seeker;
import io.pipelane.switcher.worker.Worker.SessionRoom;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SessionRoomsTest extends SessionsFixture {
  private static final Seeker ONLINE = new Seeker(Priority.ONLINE, 0);
  private static final long STATE = 4 * MIB;

  private final ImportedModel model = model("a model");
  private final StructureRange range = daemon.register(model);
  private final Structure structure = range.structure();
  private final KeptTensors kept =
      new KeptTensors("device", DeviceStates.ON_HOST, lanes, STATE, _ -> false);
  private final SessionRooms rooms = new SessionRooms(table, lanes, kept, new States());
  private final Deque<KeptTensor> tensors = new ArrayDeque<>();
  private boolean hasOnlineState;
  private boolean isInAStep;

  /** Only an online sequence's state is there, and makes no room for offline work. */
  private final class States implements HeldBySequences {
    @Override
    public boolean writeOut(Priority inFavourOf) {
      boolean goes = hasOnlineState && !isInAStep && inFavourOf == Priority.ONLINE;
      if (goes) {
        lanes.releasePersistent(STATE);
        hasOnlineState = false;
      }
      return goes;
    }

    @Override
    public long bytes() {
      return hasOnlineState ? STATE : 0;
    }

    @Override
    public long most(Priority of, Priority step, long laneBytes, long sessionBytes) {
      throw new AssertionError("no step runs here");
    }
  }

  /** Has a tensor lie between two steps. */
  private KeptTensor keep() {
    Keeper keeper =
        new Keeper() {
          @Override
          public Set<ModelVersion> readers(String on, String output) {
            return Set.of(model.version());
          }

          @Override
          public void keep(String output, TensorType type, Shape shape, KeptTensor tensor) {
            tensors.add(tensor);
          }
        };
    assertTrue(kept.place(keeper, "y", TensorType.UINT8, Shape.of(STATE), STATE).isPresent());
    return tensors.getLast();
  }

  @AfterEach
  void giveBackWhatIsKept() {
    tensors.forEach(KeptTensor::close);
    kept.close();
  }

  private long laneBytesThatNeedTheStatesRoom() {
    table.join(model, structure);
    hasOnlineState = lanes.tryReservePersistent(STATE);
    assertTrue(hasOnlineState);
    return 10 * MIB - table.budgets().expectedBytes(structure);
  }

  @Test
  void makeRoom_forAnOfflineRunsLane_leavesOnlineStatesWhereTheyAre() {
    long laneBytes = laneBytesThatNeedTheStatesRoom();
    StatusException refusal =
        assertThrows(
            StatusException.class,
            () -> rooms.makeRoom(structure, laneBytes, new Seeker(Priority.OFFLINE, 0), () -> {}));
    assertEquals(Status.UNAVAILABLE, refusal.status(), "the states will end");
    assertTrue(hasOnlineState);
    lanes.releasePersistent(STATE);
  }

  @Test
  void makeRoom_forAnOnlineRunsLane_writesOnlineStatesOut() {
    long laneBytes = laneBytesThatNeedTheStatesRoom();
    try (SessionRoom _ = rooms.makeRoom(structure, laneBytes, ONLINE, () -> {})) {
      assertTrue(lanes.largestLaneBytes() >= laneBytes);
    }
  }

  @Test
  void stateInAStep_refusesForNowAlone() {
    long laneBytes = laneBytesThatNeedTheStatesRoom();
    isInAStep = true;
    StatusException session =
        assertThrows(
            StatusException.class, () -> rooms.makeRoom(structure, laneBytes, ONLINE, () -> {}));
    for (StatusException refusal : List.of(session, refusedLane(10 * MIB))) {
      assertEquals(Status.UNAVAILABLE, refusal.status(), refusal.getMessage());
      assertTrue(String.valueOf(refusal.getMessage()).contains("states of sequences"));
    }
    assertEquals(Status.INSUFFICIENT_MEMORY, refusedLane(10 * MIB + 1).status());
    lanes.releasePersistent(STATE);
  }

  /** Its own state cannot leave for it, so that asking again is of no use. */
  @Test
  void stateOfTheRunItself_refusesForGood() {
    long laneBytes = laneBytesThatNeedTheStatesRoom();
    isInAStep = true;
    Seeker step = new Seeker(Priority.ONLINE, STATE);
    StatusException session =
        assertThrows(
            StatusException.class, () -> rooms.makeRoom(structure, laneBytes, step, () -> {}));
    for (StatusException refusal : List.of(session, refusedLane(10 * MIB, step))) {
      assertEquals(Status.INSUFFICIENT_MEMORY, refusal.status(), refusal.getMessage());
    }
    lanes.releasePersistent(STATE);
  }

  @Test
  void makeRoom_memoryThatNothingLiesIn_goesBeforeSessionsAndStates() throws Exception {
    table.join(model, structure);
    hasOnlineState = lanes.tryReservePersistent(STATE);
    assertTrue(hasOnlineState);
    keep().close();
    long laneBytes = 10 * MIB - STATE - table.budgets().expectedBytes(structure);
    try (SessionRoom _ = rooms.makeRoom(structure, laneBytes, ONLINE, () -> {})) {
      assertTrue(hasOnlineState);
      assertEquals(0, kept.takenBytes());
    }
    lanes.releasePersistent(STATE);
  }

  private StatusException refusedLane(long bytes) {
    return refusedLane(bytes, ONLINE);
  }

  private StatusException refusedLane(long bytes, Seeker seeker) {
    return assertThrows(
        StatusException.class, () -> rooms.makeLaneRoom(model.version(), bytes, seeker, () -> {}));
  }

  @Test
  void makeLaneRoom_besideKeptTensors_isRefusedForNowAlone() {
    KeptTensor tensor = keep();
    StatusException refusal = refusedLane(10 * MIB);
    assertEquals(Status.UNAVAILABLE, refusal.status(), refusal.getMessage());
    assertEquals(Duration.ofSeconds(1), refusal.retryAfter());
    assertEquals(Status.INSUFFICIENT_MEMORY, refusedLane(10 * MIB + 1).status());
    tensor.close();
    rooms.makeLaneRoom(model.version(), 10 * MIB, ONLINE, () -> {});
  }

  @Test
  void makeRoom_besideKeptTensors_isRefusedForNowAlone() {
    table.join(model, structure);
    KeptTensor _ = keep();
    long laneBytes = 10 * MIB - table.budgets().expectedBytes(structure);
    StatusException refusal =
        assertThrows(
            StatusException.class, () -> rooms.makeRoom(structure, laneBytes, ONLINE, () -> {}));
    assertEquals(Status.UNAVAILABLE, refusal.status(), refusal.getMessage());
  }

  /** It waits for a session in use, and need not: a tensor's memory is enough. */
  @Test
  void makeLaneRoom_tensorIsGivenBackMeanwhile_waitsNoLonger() throws Exception {
    table.join(model, structure);
    kept.tellWhenIdle(table::changed);
    KeptTensor tensor = keep();
    PooledSession inUse = table.take(new PooledSession.Key(range, null));
    CountDownLatch waits = new CountDownLatch(1);
    Thread waiting =
        Thread.ofPlatform()
            .start(() -> rooms.makeLaneRoom(model.version(), 10 * MIB, ONLINE, waits::countDown));
    waits.await();
    tensor.close();
    assertTrue(waiting.join(Duration.ofSeconds(30)), "it sleeps on");
    table.abandon(inUse);
  }

  /** All of the room is one's whose run may be held. */
  @Test
  void makeRoom_anotherHasBeenGrantedRoom_saysThatItWaits() throws Exception {
    table.join(model, structure);
    CountDownLatch waits = new CountDownLatch(1);
    Thread waiting;
    try (SessionRoom _ = rooms.makeRoom(structure, 0, ONLINE, () -> {})) {
      waiting =
          Thread.ofPlatform()
              .start(() -> rooms.makeRoom(structure, 0, ONLINE, waits::countDown).close());
      waits.await();
    }
    assertTrue(waiting.join(Duration.ofSeconds(30)), "it sleeps on");
  }
}
