package io.pipelane.lanes.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The processor by recorded files, and once by this machine's. */
class OsMonitorTest {
  @TempDir Path root;

  private void write(String file, String text) throws IOException {
    Path path = root.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, text);
  }

  @Test
  void sample_recordedFiles_tellsSharesSinceTheLookBefore() throws IOException {
    write("proc/stat", "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 2 3 4\n");
    write("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3200000\n");
    OsMonitor monitor = new OsMonitor(new SystemFiles(root));
    write("proc/stat", "cpu  130 0 110 750 110 0 0 0 0 0\ncpu0 1 2 3 4\n");
    write("proc/meminfo", "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  250 kB\n");
    write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2400000\n");
    DeviceSample sample = monitor.sample();
    assertEquals(OptionalDouble.of(0.4), sample.work().utilization());
    assertEquals(OptionalDouble.of(0.75), sample.memory().taken());
    assertEquals(OptionalDouble.of(0.75), sample.work().clock());
  }

  @Test
  void sample_noSuchFiles_isUnknown() throws IOException {
    write("proc/stat", "");
    assertEquals(DeviceSample.UNKNOWN, new OsMonitor(new SystemFiles(root)).sample());
  }

  @Test
  void sample_thisMachine_isPlausible() {
    try (OsMonitor monitor = OsMonitor.open()) {
      double memory = monitor.sample().memory().taken().orElseThrow();
      assertTrue(memory > 0 && memory < 1, () -> "memory " + memory);
    }
  }
}
