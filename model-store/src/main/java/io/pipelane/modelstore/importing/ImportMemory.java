package io.pipelane.modelstore.importing;

import io.pipelane.runtime.DeviceAllocator;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.RepackedPlacement;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Memory for the sessions with which import finds out what ONNX Runtime repacks; all others live in
 * ONNX Runtime's own. One session is built at a time.
 */
final class ImportMemory implements DeviceAllocator {
  private static final long ALIGNMENT = 64;

  private final Map<Long, Arena> allocations = new HashMap<>();
  private @Nullable Recording recording;
  private @Nullable RepackedPlacement placement;

  private record Recording(Arena arena, List<MemorySegment> allocations) {}

  /**
   * Builds a session, lets somebody look at all that it allocated meanwhile, in order, and closes
   * it. What it freed again is shown as well.
   */
  <T> T recording(Supplier<OrtSession> build, Function<List<MemorySegment>, T> look) {
    try (Arena arena = Arena.ofShared()) {
      Recording started = new Recording(arena, new ArrayList<>());
      recording = started;
      try (OrtSession _ = build.get()) {
        return look.apply(started.allocations);
      } finally {
        recording = null;
      }
    }
  }

  /**
   * Builds a session whose repacked weights go to given places.
   *
   * @throws io.pipelane.config.StatusException when some have not got there
   */
  OrtSession placing(RepackedPlacement places, Supplier<OrtSession> build) {
    placement = places;
    try {
      OrtSession session = build.get();
      try {
        places.check();
        return session;
      } catch (RuntimeException e) {
        session.close();
        throw e;
      }
    } finally {
      placement = null;
    }
  }

  @Override
  public synchronized long allocate(long bytes) {
    if (recording != null) {
      MemorySegment allocated = recording.arena.allocate(bytes, ALIGNMENT);
      recording.allocations.add(allocated);
      return allocated.address();
    }
    long placed = placement == null ? 0 : placement.next(bytes);
    if (placed != 0) {
      return placed;
    }
    Arena arena = Arena.ofShared();
    long address = arena.allocate(bytes, ALIGNMENT).address();
    allocations.put(address, arena);
    return address;
  }

  @Override
  public synchronized void free(long address) {
    Arena arena = allocations.remove(address);
    if (arena != null) {
      arena.close();
    } else if (placement != null) {
      placement.freed(address);
    }
  }
}
