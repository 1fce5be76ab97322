package io.pipelane.cluster.profile;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.WholeFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * The profiles of workloads by GPU type, kept in a file: a line each, with tabs. Replaced as a
 * whole, so a crash leaves the old one or the new one. For any thread of one process.
 */
public final class ProfileStore {
  private static final int MOST = 100_000;
  private static final int CELLS = 6;

  private final Path file;
  private final ConcurrentNavigableMap<Key, WorkloadProfile> profiles =
      new ConcurrentSkipListMap<>();

  private record Key(String workload, String gpuType) implements Comparable<Key> {
    @Override
    public int compareTo(Key other) {
      int byWorkload = workload.compareTo(other.workload);
      return byWorkload == 0 ? gpuType.compareTo(other.gpuType) : byWorkload;
    }
  }

  private ProfileStore(Path file) {
    this.file = file;
  }

  /**
   * Reads the profiles of a file; none where there is no such file yet.
   *
   * @throws StatusException when a line is not a profile
   */
  public static ProfileStore open(Path file) throws IOException {
    ProfileStore store = new ProfileStore(file);
    try {
      int number = 0;
      for (String line : Files.readAllLines(file)) {
        number++;
        store.read(line, number);
      }
    } catch (NoSuchFileException e) {
      return store;
    }
    return store;
  }

  private void read(String line, int number) {
    String[] cells = line.split("\t", -1);
    try {
      if (cells.length != CELLS) {
        throw new IllegalArgumentException("%d cells".formatted(cells.length));
      }
      profiles.put(
          new Key(cells[0], cells[1]),
          new WorkloadProfile(
              Double.parseDouble(cells[2]),
              Double.parseDouble(cells[3]),
              Double.parseDouble(cells[4]),
              Double.parseDouble(cells[5])));
    } catch (IllegalArgumentException e) {
      throw new StatusException(
          Status.INTERNAL,
          "line %d of %s is no profile: %s; remove it, and the workload is profiled anew"
              .formatted(number, file, e.getMessage()),
          e);
    }
  }

  /** What is known of a workload on a type of GPU; at once. */
  public Optional<WorkloadProfile> find(String workload, String gpuType) {
    return Optional.ofNullable(profiles.get(new Key(workload, gpuType)));
  }

  /**
   * Keeps a profile, in place of an earlier one of the same workload and type.
   *
   * @param workload and {@code gpuType} are names without tabs and line ends
   */
  public synchronized void put(String workload, String gpuType, WorkloadProfile profile)
      throws IOException {
    checkName(workload);
    checkName(gpuType);
    Key key = new Key(workload, gpuType);
    if (profiles.size() >= MOST && !profiles.containsKey(key)) {
      throw new StatusException(
          Status.TOO_LARGE,
          "%s has %d profiles, as many as it may; remove some".formatted(file, MOST));
    }
    profiles.put(key, profile);
    StringBuilder text = new StringBuilder();
    profiles.forEach(
        (name, value) ->
            text.append(
                String.join(
                    "\t",
                    name.workload,
                    name.gpuType,
                    Double.toString(value.utilization()),
                    Double.toString(value.activity()),
                    Double.toString(value.occupancy()),
                    Double.toString(value.separateMillis()) + "\n")));
    WholeFile.write(file, text.toString().getBytes(StandardCharsets.UTF_8));
  }

  private static void checkName(String name) {
    if (name.isEmpty() || name.chars().anyMatch(c -> c < ' ')) {
      throw new IllegalArgumentException(
          "\"%s\" is no name of a workload or type: it is empty or has control characters"
              .formatted(name));
    }
  }
}
