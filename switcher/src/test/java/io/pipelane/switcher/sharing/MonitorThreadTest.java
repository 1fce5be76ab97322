package io.pipelane.switcher.sharing;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A device whose monitor fails at one look. */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MonitorThreadTest {
  private final WatchedMemory watched = new WatchedMemory();

  private double taken() {
    int look = watched.looks.get();
    if (look == 3) {
      throw new OutOfMemoryError("the heap is full for a moment");
    }
    return look == 2 ? WatchedMemory.FULL : WatchedMemory.HALF;
  }

  /** It was overloaded at the look before. */
  @Test
  void look_heapIsFullMeanwhile_isRepeatedSoOfflineWorkGoesOnOnceTheDeviceIsHealthy() {
    watched.taken = this::taken;
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
      long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
      while ((watched.looks.get() < 4 || !sharing.gate().mayBegin()) && System.nanoTime() < until) {
        Thread.onSpinWait();
      }
    }
    assertTrue(sharing.gate().mayBegin(), () -> "after " + watched.looks + " looks");
  }
}
