package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.execution.CpuRuntime;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.host.HostWeights;
import io.pipelane.switcher.Switcher;
import io.pipelane.switcher.SwitcherSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;

/** Devices of the processor, each with a switcher, that can be lost. */
final class TestMembers implements AutoCloseable {
  private static final long LIMIT = Duration.ofSeconds(30).toNanos();

  final List<Member> all = new ArrayList<>();
  private final CpuRuntime runtime = new CpuRuntime(TestDevices.library());
  private final List<CpuDevice> devices = new ArrayList<>();
  private final List<LosableSessions> sessions = new ArrayList<>();

  void open(SwitcherSettings settings, HostWeights weights) {
    open(settings, weights, built -> built);
  }

  /** The same with a session for each lane, as on a GPU. */
  SeatedSessions openSeated(SwitcherSettings settings, HostWeights weights) {
    List<SeatedSessions> seated = new ArrayList<>();
    open(
        settings,
        weights,
        built -> {
          seated.add(new SeatedSessions(built));
          return seated.getFirst();
        });
    return seated.getFirst();
  }

  private void open(
      SwitcherSettings settings, HostWeights weights, UnaryOperator<SessionFactory> seats) {
    int index = all.size();
    String name = "cpu:" + index;
    ByteSize memory = new ByteSize(settings.memory().weightBytes());
    CpuDevice device = CpuDevice.open(name, memory, new ByteSize(16 << 10), Bandwidth.UNLIMITED);
    DeviceMemory accounts = new DeviceMemory(device.persistent());
    LosableSessions losable =
        new LosableSessions(seats.apply(runtime.sessions(device, accounts, 1)));
    devices.add(device);
    sessions.add(losable);
    all.add(new Member(index, name, new Switcher(device, accounts, losable, settings, weights)));
  }

  Switcher switcher(int index) {
    return all.get(index).switcher;
  }

  void lose(int index) {
    sessions.get(index).lose();
  }

  static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + LIMIT;
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() - end < 0, "it has not come about in 30 s");
      Thread.onSpinWait();
    }
  }

  /** Closes all, once nothing is on its way; everything has been given back then. */
  @Override
  public void close() {
    for (Member member : all) {
      await(() -> member.switcher.memory().weights().isQuiet());
      member.switcher.verify();
      member.switcher.close();
    }
    for (CpuDevice device : devices) {
      assertEquals(0, device.persistent().usedBytes());
      device.close();
    }
    runtime.close();
  }
}
