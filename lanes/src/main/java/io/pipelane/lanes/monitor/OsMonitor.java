package io.pipelane.lanes.monitor;

import io.pipelane.lanes.monitor.DeviceSample.Health;
import io.pipelane.lanes.monitor.DeviceSample.Memory;
import io.pipelane.lanes.monitor.DeviceSample.Work;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/** The processor as Linux tells of it: /proc and, where there is one, its frequency. */
public final class OsMonitor implements DeviceMonitor {
  private static final String FREQUENCY = "sys/devices/system/cpu/cpu0/cpufreq/";
  private static final Pattern BLANKS = Pattern.compile("\\s+");

  private final SystemFiles files;
  private final OptionalDouble highestClock; // Where it is not told, no clock is.
  private CpuTimes latest;

  /** Jiffies of all cores since the start of the machine. */
  record CpuTimes(long busy, long total) {
    /** Reads the first line of /proc/stat: user nice system idle iowait irq softirq steal ... */
    static CpuTimes parse(String stat) {
      String[] fields = BLANKS.split(stat.lines().findFirst().orElse("").trim(), -1);
      long idle = 0;
      long total = 0;
      for (int i = 1; i < Math.min(fields.length, 9); i++) {
        long value = Long.parseLong(fields[i]);
        total += value;
        idle += i == 4 || i == 5 ? value : 0;
      }
      return new CpuTimes(total - idle, total);
    }

    /** The busy share of the time since an earlier look. */
    OptionalDouble since(CpuTimes earlier) {
      long passed = total - earlier.total;
      return passed <= 0
          ? OptionalDouble.empty()
          : OptionalDouble.of(Math.clamp((busy - earlier.busy) / (double) passed, 0.0, 1.0));
    }
  }

  OsMonitor(SystemFiles files) {
    this.files = files;
    this.highestClock = number(files.read(FREQUENCY + "cpuinfo_max_freq"));
    this.latest = CpuTimes.parse(files.read("proc/stat"));
  }

  /** Looks at this machine. */
  public static OsMonitor open() {
    return new OsMonitor(SystemFiles.ofThisMachine());
  }

  @Override
  public DeviceSample sample() {
    CpuTimes now = CpuTimes.parse(files.read("proc/stat"));
    OptionalDouble busy = now.since(latest);
    if (busy.isPresent()) {
      latest = now;
    }
    return new DeviceSample(
        new Work(busy, busy, clock(), OptionalLong.empty()),
        Memory.ofDevice(HostMemory.ofMachine(files.read("proc/meminfo"))),
        Health.UNKNOWN);
  }

  private OptionalDouble clock() {
    if (highestClock.isEmpty()) {
      return OptionalDouble.empty();
    }
    OptionalDouble now = number(files.read(FREQUENCY + "scaling_cur_freq"));
    return now.isEmpty()
        ? now
        : OptionalDouble.of(
            Math.min(1, now.getAsDouble() / Math.max(1, highestClock.getAsDouble())));
  }

  private static OptionalDouble number(String text) {
    String number = text.strip();
    return number.isEmpty()
        ? OptionalDouble.empty()
        : OptionalDouble.of(Double.parseDouble(number));
  }

  /** Nothing is reported of a processor. */
  @Override
  public List<DeviceError> errors() {
    return List.of();
  }

  /** What is taken of the machine's memory counts as it is used. */
  @Override
  public OptionalLong memoryBytes() {
    return OptionalLong.empty();
  }

  @Override
  public String source() {
    return "operating system";
  }

  @Override
  public void close() {}
}
