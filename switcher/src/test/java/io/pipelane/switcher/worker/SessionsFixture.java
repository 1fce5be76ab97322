package io.pipelane.switcher.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;

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
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.memory.FakeModels;
import io.pipelane.switcher.memory.MemoryDaemon;
import io.pipelane.switcher.memory.StructureRange;
import io.pipelane.switcher.residency.ResidencySettings;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;

/** Sessions of models of one page each, in ten MiB of working memory, all of it free at the end. */
abstract class SessionsFixture {
  static final long MIB = 1 << 20;
  private static final long PAGE = 64 << 10;

  final Device device = CpuDevice.open(new ByteSize(MIB), new ByteSize(PAGE), Bandwidth.UNLIMITED);
  final Lanes lanes = new Lanes(device, new DeviceMemory(device.persistent()), 10 * MIB, 1, 0);
  final MemoryDaemon daemon =
      new MemoryDaemon(
          device,
          MIB,
          new FakeModels(),
          new EqualBytesGrouping(8, 1),
          _ -> true,
          ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL),
          System::nanoTime);
  final SessionTable table = new SessionTable(lanes, System::nanoTime);

  /** Of the models that have {@link #join}ed; those that are here at the end leave. */
  final List<StructureRange> joined = new ArrayList<>();

  /** A session that nobody runs. */
  static class NeverRun implements ModelSession {
    @Override
    public void run(
        Invocation invocation,
        EphemeralRegion region,
        MemoryTarget.Growth growth,
        WeightArrivals weights) {
      throw new AssertionError("nothing is run here");
    }

    @Override
    public void close() {}
  }

  static ImportedModel model(String name) {
    return FakeModels.ofBytes(name, PAGE);
  }

  /** Registers a model, and has the table know its structure. */
  StructureRange join(ImportedModel model) {
    StructureRange range = daemon.register(model);
    table.join(model, range.structure());
    joined.add(range);
    return range;
  }

  @AfterEach
  void everythingIsGivenBack() {
    joined.forEach(range -> table.leave(range.structure()));
    assertEquals(10 * MIB, lanes.freeBytes());
    lanes.close();
    daemon.close();
    device.close();
  }
}
