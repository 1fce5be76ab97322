package io.pipelane.server.shared;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The places in shared memory that a request's outputs are written to. Holds its regions until it
 * is closed, from one thread at a time.
 */
public final class RegionOutputs implements AutoCloseable {
  /** For requests all of whose outputs are sent. */
  public static final RegionOutputs NONE = new RegionOutputs(List.of());

  private final List<@Nullable Place> places;
  private boolean closed;

  private record Place(Region region, RegionPart part) {}

  private RegionOutputs(List<@Nullable Place> places) {
    this.places = places;
  }

  static RegionOutputs take(SharedMemory memory, List<? extends @Nullable RegionPart> parts) {
    if (namesNone(parts)) {
      return NONE;
    }
    RegionOutputs outputs = new RegionOutputs(new ArrayList<>(parts.size()));
    boolean done = false;
    try {
      for (RegionPart part : parts) {
        outputs.places.add(part == null ? null : new Place(memory.use(part), part));
      }
      done = true;
      return outputs;
    } finally {
      if (!done) {
        outputs.close();
      }
    }
  }

  private static boolean namesNone(List<? extends @Nullable RegionPart> parts) {
    for (RegionPart part : parts) {
      if (part != null) {
        return false;
      }
    }
    return true;
  }

  /** Where the output at a position goes; null where it is sent. */
  public @Nullable RegionPart part(int output) {
    Place place = output < places.size() ? places.get(output) : null;
    return place == null ? null : place.part;
  }

  /**
   * Writes an output to its place; waits for the copy.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the place is too small
   */
  public void write(int output, String name, ByteBuffer data) {
    Place place = places.get(output);
    if (place == null) {
      return;
    }
    if (data.remaining() > place.part.byteSize()) {
      throw RegionSpec.invalid(
          "output \"%s\" has %d bytes, shared_memory_byte_size is %d"
              .formatted(name, data.remaining(), place.part.byteSize()));
    }
    place.region.write(place.part.offset(), data);
  }

  /** Lets the regions go; does nothing the second time. */
  @Override
  public void close() {
    if (closed || places.isEmpty()) {
      return;
    }
    closed = true;
    for (Place place : places) {
      if (place != null) {
        place.region.release();
      }
    }
  }
}
