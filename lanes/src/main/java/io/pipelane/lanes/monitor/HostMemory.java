package io.pipelane.lanes.monitor;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A reader of the host's memory pressure, as Linux tells it: that of the machine, and of the
 * control groups (version 2) that this process is in. Safe for any thread.
 */
public final class HostMemory {
  /*
   * Pressure is the kernel's own measure (PSI). Waiting for pages that were swapped out, or dropped
   * too early, counts in it, so there is no figure of swap beside it.
   *
   * Memory of a group is counted as that of the machine is in MemAvailable: pages that merely cache
   * files do not count as taken. A group is limited by all groups above it, too. Where a container
   * sees itself as the root, or its path is not there, only the root's files are found. Groups that
   * can have no limit, as that of the machine, are not looked at again. Text that is not as the
   * kernel writes it counts as no text.
   */
  private static final Pattern PRESSURE = Pattern.compile("some avg10=(\\d{1,3}(?:\\.\\d+)?) ");
  private static final Pattern TOTAL = number("MemTotal:\\s+", " kB");
  private static final Pattern AVAILABLE = number("MemAvailable:\\s+", " kB");
  private static final Pattern ACTIVE_FILE = number("active_file ", "");
  private static final Pattern INACTIVE_FILE = number("inactive_file ", "");
  private static final Pattern RECLAIMABLE_SLAB = number("slab_reclaimable ", "");
  private static final Pattern BYTES = number("", "");
  private static final Pattern GROUP = Pattern.compile("(?m)^0::/([^\\x00\\n]*)$");
  private static final Path GROUPS = Path.of("sys/fs/cgroup");
  private static final double PERCENT = 100;

  private final SystemFiles files;
  private final List<Path> groups;

  private HostMemory(SystemFiles files) {
    this.files = files;
    this.groups =
        groups(files.read("proc/self/cgroup")).stream()
            .filter(group -> !files.read(limitOf(group)).isEmpty())
            .toList();
  }

  /** That of this machine. */
  public static HostMemory ofThisMachine() {
    return of(SystemFiles.ofThisMachine());
  }

  static HostMemory of(SystemFiles files) {
    return new HostMemory(files);
  }

  private static Pattern number(String before, String after) {
    return Pattern.compile("(?m)^" + before + "(\\d{1,18})" + after + "$");
  }

  /** The folders of this process' control group and of those above it, the root's last. */
  private static List<Path> groups(String membership) {
    List<Path> folders = new ArrayList<>();
    Matcher path = GROUP.matcher(membership);
    Path own = path.find() ? GROUPS.resolve(path.group(1)).normalize() : GROUPS;
    for (Path folder = own; folder != null && folder.startsWith(GROUPS); ) {
      folders.add(folder);
      folder = folder.getParent();
    }
    return folders.isEmpty() ? List.of(GROUPS) : List.copyOf(folders);
  }

  /**
   * Of the last ten seconds, the share in which some task of the machine waited for memory; empty
   * where the kernel does not measure it.
   */
  public OptionalDouble pressure() {
    Matcher some = PRESSURE.matcher(files.read("proc/pressure/memory"));
    return some.lookingAt() ? share(Double.parseDouble(some.group(1)) / PERCENT) : empty();
  }

  /**
   * What is taken of the machine's memory, or of a group's limit where that is the larger share;
   * empty where neither is told.
   */
  public OptionalDouble taken() {
    OptionalDouble most = ofMachine(files.read("proc/meminfo"));
    for (Path group : groups) {
      OptionalDouble share = ofGroup(group);
      if (share.isPresent() && share.getAsDouble() > most.orElse(0)) {
        most = share;
      }
    }
    return most;
  }

  /** What is taken of the machine's memory, by /proc/meminfo. */
  static OptionalDouble ofMachine(String meminfo) {
    OptionalLong total = find(TOTAL, meminfo);
    OptionalLong available = find(AVAILABLE, meminfo);
    return available.isPresent() && total.orElse(0) > 0
        ? share(1 - available.getAsLong() / (double) total.getAsLong())
        : empty();
  }

  private static String limitOf(Path group) {
    return group.resolve("memory.max").toString();
  }

  private OptionalDouble ofGroup(Path group) {
    OptionalLong limit = find(BYTES, files.read(limitOf(group)));
    OptionalLong current = find(BYTES, files.read(group.resolve("memory.current").toString()));
    if (current.isEmpty() || limit.orElse(0) == 0) {
      return empty(); // Without a limit memory.max says "max".
    }
    String uses = files.read(group.resolve("memory.stat").toString());
    long reclaimable =
        Stream.of(ACTIVE_FILE, INACTIVE_FILE, RECLAIMABLE_SLAB)
            .mapToLong(kind -> find(kind, uses).orElse(0))
            .sum();
    return share((current.getAsLong() - reclaimable) / (double) limit.getAsLong());
  }

  private static OptionalLong find(Pattern number, String text) {
    Matcher found = number.matcher(text);
    return found.find() ? OptionalLong.of(Long.parseLong(found.group(1))) : OptionalLong.empty();
  }

  private static OptionalDouble share(double value) {
    return OptionalDouble.of(Math.clamp(value, 0.0, 1.0));
  }

  private static OptionalDouble empty() {
    return OptionalDouble.empty();
  }
}
