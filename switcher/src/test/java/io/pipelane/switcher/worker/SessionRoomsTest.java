package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Bandwidth;
import io.pipelane.config.ByteSize;
import io.pipelane.config.ResidencyConfig;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.memory.FakeModels;
import io.pipelane.switcher.memory.MemoryDaemon;
import io.pipelane.switcher.memory.ResidencySettings;
import io.pipelane.switcher.memory.Structure;
import io.pipelane.switcher.worker.Worker.SessionRoom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SessionRoomsTest {
  private static final long MIB = 1 << 20;
  private static final long STATE = 4 * MIB;

  private final Device device =
      CpuDevice.open(new ByteSize(MIB), new ByteSize(64 << 10), Bandwidth.UNLIMITED);
  private final Lanes lanes = new Lanes(device, new DeviceMemory(device.persistent()), 10 * MIB, 1);
  private final ImportedModel model = FakeModels.ofBytes("a model", 64 << 10);
  private final MemoryDaemon daemon =
      new MemoryDaemon(
          device,
          MIB,
          new FakeModels(),
          new EqualBytesGrouping(8, 1),
          _ -> true,
          ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL),
          System::nanoTime);
  private final Structure structure = daemon.register(model).structure();
  private final SessionTable table = new SessionTable(lanes, System::nanoTime);
  private final SessionRooms rooms =
      new SessionRooms(table, lanes, this::giveIdleBack, this::writeOut);
  private boolean hasOnlineState;
  private boolean hasIdleMemory;

  /** Only an online sequence's state is there, and makes no room for offline work. */
  private boolean writeOut(Priority inFavourOf) {
    boolean goes = hasOnlineState && inFavourOf == Priority.ONLINE;
    if (goes) {
      lanes.releasePersistent(STATE);
      hasOnlineState = false;
    }
    return goes;
  }

  private boolean giveIdleBack() {
    boolean goes = hasIdleMemory;
    if (goes) {
      lanes.releasePersistent(STATE);
      hasIdleMemory = false;
    }
    return goes;
  }

  @AfterEach
  void everythingIsGivenBack() {
    assertEquals(10 * MIB, lanes.freeBytes());
    lanes.close();
    daemon.close();
    device.close();
  }

  private long laneBytesThatNeedTheStatesRoom() {
    table.join(model, structure);
    hasOnlineState = lanes.tryReservePersistent(STATE);
    assertTrue(hasOnlineState);
    return 10 * MIB - table.expectedBytes(structure);
  }

  @Test
  void makeRoom_forAnOfflineRunsLane_leavesOnlineStatesWhereTheyAre() {
    long laneBytes = laneBytesThatNeedTheStatesRoom();
    StatusException refusal =
        assertThrows(
            StatusException.class, () -> rooms.makeRoom(structure, laneBytes, Priority.OFFLINE));
    assertEquals(Status.UNAVAILABLE, refusal.status(), "the states will end");
    assertTrue(hasOnlineState);
    lanes.releasePersistent(STATE);
  }

  @Test
  void makeRoom_forAnOnlineRunsLane_writesOnlineStatesOut() {
    long laneBytes = laneBytesThatNeedTheStatesRoom();
    try (SessionRoom _ = rooms.makeRoom(structure, laneBytes, Priority.ONLINE)) {
      assertTrue(lanes.largestLaneBytes() >= laneBytes);
    }
  }

  @Test
  void makeRoom_memoryThatNothingLiesIn_goesBeforeSessionsAndStates() throws Exception {
    table.join(model, structure);
    hasOnlineState = lanes.tryReservePersistent(STATE);
    hasIdleMemory = lanes.tryReservePersistent(STATE);
    assertTrue(hasOnlineState && hasIdleMemory);
    long laneBytes = 10 * MIB - STATE - table.expectedBytes(structure);
    try (SessionRoom _ = rooms.makeRoom(structure, laneBytes, Priority.ONLINE)) {
      assertTrue(hasOnlineState && !hasIdleMemory);
    }
    lanes.releasePersistent(STATE);
  }
}
