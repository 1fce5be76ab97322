package io.pipelane.lanes.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** NVML on a host with a GPU, and what is said without one. */
class NvmlMonitorTest {
  private static @Nullable NvmlMonitor opened() {
    try {
      return NvmlMonitor.open(0);
    } catch (StatusException e) {
      return null;
    }
  }

  @Test
  @Tag("gpu")
  void sample_gpu_isPlausible() throws InterruptedException {
    NvmlMonitor monitor = opened();
    assumeTrue(monitor != null, "there is no NVML here");
    try (monitor) {
      for (int i = 0; i < 20; i++) {
        DeviceSample sample = monitor.sample();
        double memory = sample.memory().taken().orElseThrow();
        assertTrue(memory > 0 && memory < 1, sample::toString);
        double clock = sample.work().clock().orElseThrow();
        assertTrue(clock > 0 && clock <= 1, sample::toString);
        double watts = sample.health().watts().orElseThrow();
        assertTrue(watts > 5 && watts < 2_000, sample::toString);
        double celsius = sample.health().celsius().orElseThrow();
        assertTrue(celsius > 5 && celsius < 120, sample::toString);
        assertTrue(sample.work().utilization().orElseThrow() <= 1, sample::toString);
        assertTrue(sample.work().activity().orElse(0) <= 1, sample::toString);
        assertTrue(sample.work().slowedBy().isPresent(), sample::toString);
        assertEquals(List.of(), monitor.errors());
        Thread.sleep(120); // A look at a real device: GPM tells of the time between.
      }
      System.out.println(monitor.source() + ": " + monitor.sample());
    }
  }

  @Test
  void load_noLibrary_saysSo() {
    StatusException error =
        assertThrows(StatusException.class, () -> Nvml.load("libno-such-library.so.1"));
    assertEquals(Status.UNAVAILABLE, error.status());
    assertTrue(String.valueOf(error.getMessage()).contains("no NVML"));
  }

  @ParameterizedTest
  @CsvSource(
      value = {"null, 3, 3", "'4,5', 1, 5", "'4,5', 2, 2", "'GPU-8f2a', 0, 0"},
      nullValues = "null")
  void physical_goesByWhatIsVisible(@Nullable String visible, int ordinal, int expected) {
    assertEquals(expected, VisibleDevices.physical(visible, ordinal));
  }
}
