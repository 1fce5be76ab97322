package io.pipelane.switcher;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.execution.CpuSessionFactory;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Sessions of another factory, of which a test is told each segment before it is computed. */
final class WatchedSegments implements SessionFactory {
  private final SessionFactory sessions;
  private final Watcher watcher;

  /** Told on the run's thread, which waits for it. */
  interface Watcher {
    void before(String model, int segment);
  }

  WatchedSegments(SessionFactory sessions, Watcher watcher) {
    this.sessions = sessions;
    this.watcher = watcher;
  }

  /** A switcher on the processor that computes one run at a time. */
  static Switcher switcher(
      CpuDevice device, long weightBytes, Map<String, String> settings, Watcher watcher) {
    DeviceMemory memory = new DeviceMemory(device.persistent());
    CpuSessionFactory sessions = new CpuSessionFactory(device, TestDevices.library(), memory, 1);
    return new Switcher(
        device,
        memory,
        new WatchedSegments(sessions, watcher),
        SwitcherSettings.of(weightBytes, 64 << 20, 1, 100, 1 << 20, new EqualBytesGrouping(4, 1))
            .withScheduling(PipelaneConfig.of(settings).scheduling()),
        ReadWeights::of);
  }

  @Override
  public boolean boundToLane() {
    return sessions.boundToLane();
  }

  @Override
  public ModelSession gated(
      ImportedModel model, long address, @Nullable EphemeralRegion lane, MemoryTarget constants) {
    ModelSession session = sessions.gated(model, address, lane, constants);
    return new ModelSession() {
      @Override
      public void run(
          Invocation invocation,
          EphemeralRegion region,
          MemoryTarget.Growth growth,
          WeightArrivals weights) {
        session.run(invocation, region, growth, new Watched(model.version().model(), weights));
      }

      @Override
      public void close() {
        session.close();
      }
    };
  }

  private final class Watched implements WeightArrivals {
    private final String model;
    private final WeightArrivals weights;

    Watched(String model, WeightArrivals weights) {
      this.model = model;
      this.weights = weights;
    }

    @Override
    public void await(int segment) {
      weights.await(segment);
    }

    @Override
    public List<DeviceEvent> before(int segment) {
      return weights.before(segment);
    }

    @Override
    public void stalled(long nanos) {
      weights.stalled(nanos);
    }

    @Override
    public void giveWay(int segment) {
      watcher.before(model, segment);
      weights.giveWay(segment);
    }
  }

  @Override
  public String runtimeVersion() {
    return sessions.runtimeVersion();
  }

  @Override
  public void close() {
    sessions.close();
  }
}
