package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.memory.FakeModels;
import io.pipelane.switcher.memory.MemoryDaemon;
import io.pipelane.switcher.memory.StructureRange;
import io.pipelane.switcher.residency.ResidencySettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of sessions that grow in a run, in ten MiB of working memory. */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("NullAway.Init") // build() fills the fields.
class SessionPoolTest {
  private static final long MIB = 1 << 20;

  private final Device device =
      CpuDevice.open(new ByteSize(MIB), new ByteSize(64 << 10), Bandwidth.UNLIMITED);
  private final Lanes lanes = new Lanes(device, new DeviceMemory(device.persistent()), 10 * MIB, 1);
  private final EphemeralRegion lane = lanes.regions().getFirst();
  private final MemoryDaemon daemon =
      new MemoryDaemon(
          device,
          MIB,
          new FakeModels(),
          new EqualBytesGrouping(8, 1),
          _ -> true,
          ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL),
          System::nanoTime);
  private final SessionTable table = new SessionTable(lanes, System::nanoTime);
  private final Growing factory = new Growing();
  private final SessionPool pool =
      new SessionPool(table, factory, device.persistent(), System::nanoTime);
  private final List<StructureRange> ranges = new ArrayList<>();
  private final List<String> closed = new ArrayList<>();
  private ImportedModel asked;
  private ImportedModel ready;
  private Session readySession;

  private final class Growing implements SessionFactory {
    long bytes;
    @Nullable Session latest;

    @Override
    public boolean boundToLane() {
      return true;
    }

    @Override
    public ModelSession gated(
        ImportedModel model, long address, @Nullable EphemeralRegion lane, MemoryTarget constants) {
      Session session = new Session(model.version().model(), bytes);
      latest = session;
      return session;
    }

    @Override
    public String runtimeVersion() {
      return "none";
    }

    @Override
    public void close() {}
  }

  private final class Session implements ModelSession {
    private final String name;
    private final long leastBytes;
    long bytes;

    Session(String name, long bytes) {
      this.name = name;
      this.leastBytes = bytes;
      this.bytes = bytes;
    }

    @Override
    public void run(
        Invocation invocation,
        EphemeralRegion region,
        MemoryTarget.Growth growth,
        WeightArrivals weights) {
      throw new AssertionError("nothing is run here");
    }

    @Override
    public long frameworkBytes() {
      return bytes;
    }

    @Override
    public void shrink() {
      bytes = leastBytes;
    }

    @Override
    public void close() {
      closed.add(name);
    }
  }

  /** One that was asked for, of five MiB, and one that stands ready, of three. */
  @BeforeEach
  void build() {
    asked = model("asked");
    factory.bytes = 5 * MIB;
    pool.giveBack(pool.take(asked, range(asked), lane, Priority.ONLINE));
    ready = model("ready");
    factory.bytes = 3 * MIB;
    pool.buildAhead(ready, range(ready), lane, Priority.ONLINE);
    readySession = Objects.requireNonNull(factory.latest);
    assertEquals(2 * MIB, lanes.freeBytes());
  }

  @AfterEach
  void everythingIsGivenBack() {
    ranges.forEach(range -> table.leave(range.structure()));
    assertEquals(10 * MIB, lanes.freeBytes());
    lanes.close();
    daemon.close();
    device.close();
  }

  private ImportedModel model(String name) {
    ImportedModel model = FakeModels.ofBytes(name, 64 << 10);
    StructureRange range = daemon.register(model);
    table.join(model, range.structure());
    ranges.add(range);
    return model;
  }

  private StructureRange range(ImportedModel model) {
    return ranges.get(model.equals(asked) ? 0 : 1);
  }

  private PooledSession takeReady() {
    return Objects.requireNonNull(pool.takeReady(range(ready), lane));
  }

  @Test
  void runAhead_growsIntoWhatIsFree_andKeepsIt() {
    PooledSession session = takeReady();
    readySession.bytes = 5 * MIB;
    pool.giveBackReady(session);
    assertEquals(0, lanes.freeBytes());
    assertEquals(List.of(), closed);
  }

  @Test
  void runAhead_growsBeyondWhatIsFree_doesWithLess_andNobodyGivesWay() {
    PooledSession session = takeReady();
    readySession.bytes = 6 * MIB;
    pool.giveBackReady(session);
    assertEquals(2 * MIB, lanes.freeBytes());
    assertEquals(List.of(), closed);
  }

  @Test
  void runThatWasAskedFor_growsBeyondWhatIsFree_hasOthersGiveWay() {
    PooledSession session = pool.take(ready, range(ready), lane, Priority.ONLINE);
    readySession.bytes = 6 * MIB;
    pool.giveBack(session);
    assertEquals(4 * MIB, lanes.freeBytes());
    assertEquals(List.of("asked"), closed);
  }

  @Test
  void takeReady_theSessionHasLeft_buildsNone() {
    table.evictIdle(5 * MIB);
    assertEquals(List.of("ready"), closed);
    assertNull(pool.takeReady(range(ready), lane));
    assertEquals(5 * MIB, lanes.freeBytes());
  }
}
