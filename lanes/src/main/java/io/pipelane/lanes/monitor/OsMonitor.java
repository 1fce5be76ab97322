package io.pipelane.lanes.monitor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The processor as Linux tells of it: /proc and, where there is one, its frequency. */
public final class OsMonitor implements DeviceMonitor {
  private static final Pattern MEMORY = Pattern.compile("(MemTotal|MemAvailable):\\s+(\\d+) kB");
  private static final Pattern PRESSURE = Pattern.compile("some avg10=([0-9.]+)");
  private static final double PERCENT = 100;

  private final Path root;
  private CpuTimes latest;

  /** Jiffies of all cores since the start of the machine. */
  record CpuTimes(long busy, long total) {
    /** Reads the first line of /proc/stat: user nice system idle iowait irq softirq steal ... */
    static CpuTimes parse(String stat) {
      String[] fields = stat.lines().findFirst().orElse("").trim().split("\\s+", -1);
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

  private OsMonitor(Path root) {
    this.root = root;
    this.latest = CpuTimes.parse(read("proc/stat"));
  }

  /** Looks at this machine. */
  public static OsMonitor open() {
    return new OsMonitor(Path.of("/"));
  }

  /** Looks at a copy of the files, for tests. */
  static OsMonitor of(Path root) {
    return new OsMonitor(root);
  }

  @Override
  public DeviceSample sample() {
    CpuTimes now = CpuTimes.parse(read("proc/stat"));
    OptionalDouble busy = now.since(latest);
    if (busy.isPresent()) {
      latest = now;
    }
    return new DeviceSample(
        busy,
        busy,
        clock(),
        memory(read("proc/meminfo")),
        pressure(read("proc/pressure/memory")),
        OptionalDouble.empty(),
        OptionalDouble.empty(),
        OptionalLong.empty(),
        OptionalLong.empty());
  }

  static OptionalDouble memory(String meminfo) {
    double total = 0;
    double available = 0;
    Matcher line = MEMORY.matcher(meminfo);
    while (line.find()) {
      double value = Double.parseDouble(line.group(2));
      if (line.group(1).equals("MemTotal")) {
        total = value;
      } else {
        available = value;
      }
    }
    return total == 0 ? OptionalDouble.empty() : OptionalDouble.of(1 - available / total);
  }

  static OptionalDouble pressure(String text) {
    Matcher some = PRESSURE.matcher(text);
    return some.find()
        ? OptionalDouble.of(Double.parseDouble(some.group(1)) / PERCENT)
        : OptionalDouble.empty();
  }

  private OptionalDouble clock() {
    String folder = "sys/devices/system/cpu/cpu0/cpufreq/";
    String now = read(folder + "scaling_cur_freq").strip();
    String highest = read(folder + "cpuinfo_max_freq").strip();
    return now.isEmpty() || highest.isEmpty()
        ? OptionalDouble.empty()
        : OptionalDouble.of(
            Math.min(1, Double.parseDouble(now) / Math.max(1, Double.parseDouble(highest))));
  }

  /** Empty where there is no such file. */
  private String read(String file) {
    try {
      return Files.readString(root.resolve(file));
    } catch (IOException e) {
      return "";
    }
  }

  @Override
  public String source() {
    return "operating system";
  }

  @Override
  public void close() {}
}
