package io.pipelane.server.shared;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The regions of shared memory that requests may name, where the server's owner allows that. Safe
 * for any thread.
 */
public final class SharedMemory implements AutoCloseable {
  /*
   * The monitor guards the table, and a region is retained under it: one that is found is open until
   * it is released. Regions' own monitors are taken last.
   */

  /** Regions at a time. */
  static final int MAXIMUM_REGIONS = 1024;

  private final Optional<Path> folder;
  private final String whyOff;
  private final long largestInput;
  private final SortedMap<String, Region> regions = new TreeMap<>();

  private SharedMemory(Optional<Path> folder, String whyOff, long largestInput) {
    this.folder = folder;
    this.whyOff = whyOff;
    this.largestInput = largestInput;
  }

  /** None: naming a region is refused. */
  public static SharedMemory off() {
    return off(
        "shared memory is not served here; send the data itself, or start the server with"
            + " security.shared-memory");
  }

  /** That of another host, from which a request has come: naming a region is refused. */
  public static SharedMemory ofAnotherHost() {
    return off(
        "another host answers this, which does not see the client's shared memory; send the data"
            + " itself");
  }

  private static SharedMemory off(String why) {
    return new SharedMemory(Optional.empty(), why, 0);
  }

  /**
   * The shared memory of a machine.
   *
   * @param folder where the system keeps it; on Linux {@code /dev/shm}
   * @param largestInput bytes of one input at most
   */
  public static SharedMemory in(Path folder, long largestInput) {
    return new SharedMemory(Optional.of(folder), "", largestInput);
  }

  /** Whether it is served at all. */
  public boolean isOn() {
    return folder.isPresent();
  }

  private Path folder() {
    return folder.orElseThrow(() -> new StatusException(Status.UNIMPLEMENTED, whyOff));
  }

  /**
   * Opens a region; waits for the file system.
   *
   * @throws StatusException when it cannot be, or its name is taken
   */
  public void register(RegionSpec spec) {
    Region region = Region.open(folder(), spec);
    StatusException error = null;
    synchronized (this) {
      if (regions.size() >= MAXIMUM_REGIONS) {
        error =
            RegionSpec.invalid(
                MAXIMUM_REGIONS + " regions are registered, as many as there may be");
      } else if (regions.putIfAbsent(spec.name(), region) != null) {
        error =
            RegionSpec.invalid(
                "region \"" + spec.name() + "\" is registered already; unregister it before");
      }
    }
    if (error != null) {
      CompletableFuture<Void> _ = region.leave();
      throw error;
    }
  }

  /**
   * Gives regions up.
   *
   * @param name empty for all
   * @return completes when no request uses them any more
   */
  public CompletableFuture<Void> unregister(String name) {
    folder();
    List<Region> leaving = new ArrayList<>();
    synchronized (this) {
      if (name.isEmpty()) {
        leaving.addAll(regions.values());
        regions.clear();
      } else if (regions.containsKey(name)) {
        leaving.add(regions.remove(name));
      }
    }
    return CompletableFuture.allOf(
        leaving.stream().map(Region::leave).toArray(CompletableFuture<?>[]::new));
  }

  /**
   * What is registered, by name.
   *
   * @param name empty for all
   * @throws StatusException {@link Status#NOT_FOUND} for a region that there is not
   */
  public synchronized List<RegionSpec> status(String name) {
    folder();
    if (!name.isEmpty() && !regions.containsKey(name)) {
      throw unknown(name);
    }
    return regions.values().stream()
        .map(Region::spec)
        .filter(spec -> name.isEmpty() || spec.name().equals(name))
        .toList();
  }

  /** Whether any request can name a region. */
  public synchronized boolean isInUse() {
    return !regions.isEmpty();
  }

  /**
   * The region that a part lies in, retained: the caller releases it.
   *
   * @throws StatusException when there is none, or the part is not inside
   */
  Region use(RegionPart part) {
    folder();
    Region region;
    synchronized (this) {
      region = regions.get(part.region());
      if (region == null || !region.retain()) {
        throw unknown(part.region());
      }
    }
    try {
      region.check(part);
      return region;
    } catch (StatusException e) {
      region.release();
      throw e;
    }
  }

  /**
   * Checks, before anything is allocated for it, that an input can be read.
   *
   * @throws StatusException when it cannot
   */
  public void checkInput(RegionPart part) {
    use(part).release();
    if (part.byteSize() > largestInput) {
      throw new StatusException(
          Status.TOO_LARGE,
          "shared_memory_byte_size %d is larger than server.max-request-size, %d bytes"
              .formatted(part.byteSize(), largestInput));
    }
  }

  /**
   * Copies a part out of its region.
   *
   * @param target has as many bytes left as the part
   * @throws StatusException when there is no such region, or it has become smaller
   */
  public void read(RegionPart part, ByteBuffer target) {
    Region region = use(part);
    try {
      region.read(part.offset(), target);
    } finally {
      region.release();
    }
  }

  /**
   * Takes places for a request's outputs.
   *
   * @param parts by output; null where it is sent
   * @throws StatusException when one cannot be had; none is held then
   */
  public RegionOutputs outputs(List<? extends @Nullable RegionPart> parts) {
    return RegionOutputs.take(this, parts);
  }

  /** Gives all regions up; does not wait for those in use. */
  @Override
  public void close() {
    if (isOn()) {
      CompletableFuture<Void> _ = unregister("");
    }
  }

  private static StatusException unknown(String name) {
    return new StatusException(
        Status.NOT_FOUND, "there is no region \"%.64s\"; register it".formatted(name));
  }
}
