package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.LaneLease;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.kept.KeptTensors;
import io.pipelane.switcher.memory.StructureRange;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import io.pipelane.switcher.sharing.gate.OnlineWork;
import io.pipelane.switcher.sharing.gate.OnlineWork.MemoryWait;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What an owner's session waits for, while online requests of others hold offline work. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SessionBuilderTest extends SessionsFixture {
  /** There are no sequences. */
  private static final class NoStates implements HeldBySequences {
    @Override
    public boolean writeOut(Priority inFavourOf) {
      return false;
    }

    @Override
    public long bytes() {
      return 0;
    }

    @Override
    public long most(Priority of, Priority step, long laneBytes, long sessionBytes) {
      throw new AssertionError("no step runs here");
    }
  }

  private final ImportedModel model = model("a model");
  private final StructureRange range = daemon.register(model);
  private final KeptTensors kept =
      new KeptTensors("device", DeviceStates.ON_HOST, lanes, MIB, _ -> false);
  private final SessionRooms rooms = new SessionRooms(table, lanes, kept, new NoStates());
  private final OnlineWork online = new OnlineWork();
  private final OfflineGate gate = new OfflineGate(true, 0, 1, online, System::nanoTime);
  private final CountDownLatch opened = new CountDownLatch(1);

  /** What offline work might have of its speed while sessions were built. */
  private final List<Double> whileBuilding = Collections.synchronizedList(new ArrayList<>());

  /** Sessions of nothing. */
  private final class Watched implements SessionFactory {
    private final boolean boundToLane;

    Watched(boolean boundToLane) {
      this.boundToLane = boundToLane;
    }

    @Override
    public boolean boundToLane() {
      return boundToLane;
    }

    @Override
    public ModelSession gated(
        ImportedModel model, long address, @Nullable EphemeralRegion lane, MemoryTarget constants) {
      whileBuilding.add(gate.allowed());
      return new NeverRun();
    }

    @Override
    public String runtimeVersion() {
      return "none";
    }

    @Override
    public void close() {}
  }

  private Thread building(boolean boundToLane) {
    Watched sessions = new Watched(boundToLane);
    SessionPool pool = new SessionPool(table, sessions, device.persistent(), System::nanoTime);
    SessionBuilder builder = new SessionBuilder(sessions, lanes, table, rooms, pool);
    table.join(model, range.structure());
    online.begin(new Ignored());
    gate.onOpened(opened::countDown);
    return Thread.ofPlatform()
        .start(
            () -> {
              try (MemoryWait wait = online.new MemoryWait()) {
                builder.build(
                    new SessionBuilder.Wanted(model, range, Priority.ONLINE), Runnable::run, wait);
              }
            });
  }

  private void built(Thread building) throws InterruptedException {
    assertTrue(building.join(Duration.ofSeconds(30)), "it sleeps on");
    assertEquals(List.of(0.0), whileBuilding, "it waits for nobody any more");
    table.leave(range.structure());
  }

  @AfterEach
  void giveBackWhatIsKept() {
    kept.close();
  }

  /** The lane may be that of an offline run which is held. */
  @Test
  void build_whileALaneIsWaitedFor_opensTheGate_andNotWhileTheSessionIsBuilt() throws Exception {
    Thread building;
    try (LaneLease _ = lanes.enter(0)) {
      building = building(true);
      opened.await();
      assertEquals(1, gate.allowed());
    }
    built(building);
  }

  /** So may all of the memory. */
  @Test
  void build_whileALanesMemoryIsWaitedFor_opensTheGate() throws Exception {
    Thread building;
    try (LaneLease _ = lanes.enter(10 * MIB)) {
      building = building(false);
      opened.await();
      assertEquals(1, gate.allowed());
    }
    built(building);
  }
}
