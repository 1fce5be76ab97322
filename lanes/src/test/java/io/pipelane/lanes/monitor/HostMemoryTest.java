package io.pipelane.lanes.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The host's memory by files as kernels write them, by spoilt ones, and once by this machine's. */
class HostMemoryTest {
  private static final String PRESSURE =
      """
      some avg10=12.50 avg60=3.10 avg300=0.75 total=91234567
      full avg10=4.00 avg60=1.02 avg300=0.21 total=31234567
      """;
  private static final String MEMINFO =
      """
      MemTotal:       24684092 kB
      MemFree:         1225040 kB
      MemAvailable:    6171023 kB
      Buffers:           12340 kB
      SwapTotal:       8388604 kB
      SwapFree:        1048576 kB
      """;

  @TempDir Path root;

  private void write(String file, String text) throws IOException {
    Path path = root.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, text);
  }

  private void group(String folder, String limit, String current, String uses) throws IOException {
    write("sys/fs/cgroup/" + folder + "/memory.max", limit + "\n");
    write("sys/fs/cgroup/" + folder + "/memory.current", current + "\n");
    write("sys/fs/cgroup/" + folder + "/memory.stat", uses);
  }

  private HostMemory host() {
    return HostMemory.of(new SystemFiles(root));
  }

  @Test
  void recordedFiles_tellPressureAndWhatIsTaken() throws IOException {
    write("proc/pressure/memory", PRESSURE);
    write("proc/meminfo", MEMINFO);
    assertEquals(OptionalDouble.of(0.125), host().pressure());
    assertEquals(OptionalDouble.of(0.75), host().taken());
  }

  /** Swap has no figure of its own: that tasks wait for it says whether it hurts. */
  @Test
  void machineThatSwaps_hasPressureThoughMuchIsAvailable() throws IOException {
    write("proc/pressure/memory", "some avg10=47.31 avg60=20.00 avg300=4.00 total=9\n");
    write(
        "proc/meminfo",
        """
        MemTotal:       24684092 kB
        MemAvailable:   18513069 kB
        SwapTotal:       8388604 kB
        SwapFree:             12 kB
        """);
    assertEquals(OptionalDouble.of(0.4731), host().pressure());
    assertEquals(0.25, host().taken().orElseThrow(), 1e-6);
    write("proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\n");
    assertEquals(OptionalDouble.of(0), host().pressure(), "full, but nobody waits for it");
  }

  @Test
  void noFiles_nothingIsTold() {
    assertEquals(OptionalDouble.empty(), host().pressure());
    assertEquals(OptionalDouble.empty(), host().taken());
  }

  @Test
  void limitedGroup_countsWithoutCachedFilesWhereItIsTighter() throws IOException {
    write("proc/meminfo", MEMINFO);
    write("proc/self/cgroup", "0::/machine.slice/server\n");
    String uses = "anon 700\nfile 150\ninactive_file 100\nactive_file 30\nslab_reclaimable 20\n";
    group("machine.slice/server", "1000", "950", uses);
    assertEquals(OptionalDouble.of(0.8), host().taken());
    group("machine.slice/server", "10000", "950", uses);
    assertEquals(OptionalDouble.of(0.75), host().taken(), "the machine is fuller");
  }

  @Test
  void groupAbove_limitsToo() throws IOException {
    write("proc/self/cgroup", "0::/machine.slice/server\n");
    group("machine.slice/server", "max", "90", "");
    group("machine.slice", "100", "95", "");
    assertEquals(OptionalDouble.of(0.95), host().taken());
  }

  /** A container sees its own group as the root, and may be told a path that it does not see. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "0::/\n",
        "0::/system.slice/of-the-host\n",
        "0::/../../beyond\n",
        "",
        "4:memory:/a"
      })
  void container_readsItsRoot(String membership) throws IOException {
    write("proc/self/cgroup", membership);
    group("", "1000", "970", "inactive_file 10\n");
    assertEquals(OptionalDouble.of(0.96), host().taken());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "some",
        "some avg10=",
        "some avg10=1.2.3 avg60=0",
        "some avg10=-1.00 avg60=0.00",
        "some avg10=nan avg60=0.00",
        "full avg10=4.00 avg60=1.02 avg300=0.21 total=1",
        "some avg10=99999999999999999999 avg60=0.00",
        "Operation not supported"
      })
  void spoiltPressure_isUnknown(String text) throws IOException {
    write("proc/pressure/memory", text);
    assertEquals(OptionalDouble.empty(), host().pressure());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "MemTotal:  1000 kB",
        "MemAvailable:  1000 kB",
        "MemTotal:  0 kB\nMemAvailable:  0 kB",
        "MemTotal:  -5 kB\nMemAvailable:  1 kB",
        "MemTotal:  1000 kB\nMemAvailable:  many kB",
        "MemTotal:  99999999999999999999999 kB\nMemAvailable:  1 kB",
        "MemTotal 1000\nMemAvailable 250"
      })
  void spoiltMeminfo_isUnknown(String text) throws IOException {
    write("proc/meminfo", text);
    assertEquals(OptionalDouble.empty(), host().taken());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "max", "0", "-1", "1e9", "10 20", "99999999999999999999999"})
  void spoiltOrNoLimit_isNoLimit(String limit) throws IOException {
    group("", limit, "970", "");
    assertEquals(OptionalDouble.empty(), host().taken());
  }

  @Test
  void spoiltGroupFiles_areSharesNeverBeyondTheirBounds() throws IOException {
    group("", "1000", "970", "inactive_file lots\nactive_file 99999999\n");
    assertEquals(OptionalDouble.empty(), host().taken(), "more cached than taken: it is not full");
    group("", "1000", "5000", "\0");
    assertEquals(OptionalDouble.of(1), host().taken());
    group("", "1000", "", "");
    assertEquals(OptionalDouble.empty(), host().taken());
  }

  @Test
  void bytesThatAreNoText_areUnknown() throws IOException {
    write("proc/pressure/memory", "");
    Files.write(root.resolve("proc/pressure/memory"), new byte[] {(byte) 0xff, (byte) 0xfe, 0});
    assertEquals(OptionalDouble.empty(), host().pressure());
  }

  @Test
  void monitor_addsTheHostToTheDevice() throws IOException {
    write("proc/pressure/memory", PRESSURE);
    write("proc/meminfo", MEMINFO);
    DeviceMonitor monitor = new HostMemoryMonitor(DeviceMonitor.none("no NVML"), host());
    DeviceSample sample = monitor.sample();
    assertEquals(OptionalDouble.of(0.125), sample.memory().hostPressure());
    assertEquals(OptionalDouble.of(0.75), sample.memory().hostTaken());
    assertEquals("no NVML", monitor.source());
  }

  @Test
  void monitor_hostWithoutPressure_saysSo() {
    DeviceMonitor monitor = new HostMemoryMonitor(DeviceMonitor.none("no NVML"), host());
    assertEquals(DeviceSample.UNKNOWN, monitor.sample());
    assertEquals("no NVML, the host's memory pressure unknown", monitor.source());
  }

  @Test
  void thisMachine_isPlausible() {
    double taken = HostMemory.ofThisMachine().taken().orElseThrow();
    assertTrue(taken > 0 && taken <= 1, () -> "taken " + taken);
  }

  @Test
  void monitor_saysOfTheDeviceWhatItsOwnMonitorSays() {
    DeviceError error = new DeviceError(79);
    DeviceMonitor device =
        new DeviceMonitor() {
          @Override
          public DeviceSample sample() {
            return DeviceSample.UNKNOWN;
          }

          @Override
          public List<DeviceError> errors() {
            return List.of(error);
          }

          @Override
          public OptionalLong memoryBytes() {
            return OptionalLong.of(80L << 30);
          }

          @Override
          public String source() {
            return "a device";
          }

          @Override
          public void close() {}
        };
    DeviceMonitor monitor = new HostMemoryMonitor(device, host());

    assertEquals(OptionalLong.of(80L << 30), monitor.memoryBytes());
    assertEquals(List.of(error), monitor.errors());
  }
}
