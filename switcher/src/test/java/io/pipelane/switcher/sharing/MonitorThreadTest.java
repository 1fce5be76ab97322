package io.pipelane.switcher.sharing;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.monitor.DeviceError;
import io.pipelane.lanes.monitor.DeviceMonitor;
import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.lanes.monitor.DeviceSample.Health;
import io.pipelane.lanes.monitor.DeviceSample.Memory;
import io.pipelane.lanes.monitor.DeviceSample.Work;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A device whose monitor fails at one look. */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MonitorThreadTest {
  private static final class Watched implements DeviceMonitor {
    final AtomicInteger looks = new AtomicInteger();

    @Override
    public DeviceSample sample() {
      int look = looks.incrementAndGet();
      if (look == 3) {
        throw new OutOfMemoryError("the heap is full for a moment");
      }
      double taken = look == 2 ? 1 : 0.5;
      return new DeviceSample(
          Work.UNKNOWN, Memory.ofDevice(OptionalDouble.of(taken)), Health.UNKNOWN);
    }

    @Override
    public List<DeviceError> errors() {
      return List.of();
    }

    @Override
    public OptionalLong memoryBytes() {
      return OptionalLong.empty();
    }

    @Override
    public String source() {
      return "a test";
    }

    @Override
    public void close() {}
  }

  /** It was overloaded at the look before. */
  @Test
  void look_heapIsFullMeanwhile_isRepeatedSoOfflineWorkGoesOnOnceTheDeviceIsHealthy() {
    Watched watched = new Watched();
    Sharing sharing =
        new Sharing(
            new SharingSettings(
                PipelaneConfig.of(
                        Map.of("sharing.period", "2ms", "sharing.overlimit-period", "10ms"))
                    .sharing(),
                watched),
            0,
            1,
            0,
            List.of(),
            System::nanoTime);
    try (MonitorThread _ = new MonitorThread(sharing)) {
      long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
      while ((watched.looks.get() < 4 || !sharing.gate().mayBegin()) && System.nanoTime() < until) {
        Thread.onSpinWait();
      }
    }
    assertTrue(sharing.gate().mayBegin(), () -> "after " + watched.looks + " looks");
  }
}
