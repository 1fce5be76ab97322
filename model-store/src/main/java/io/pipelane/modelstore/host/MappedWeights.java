package io.pipelane.modelstore.host;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A weights file mapped into memory, counted by its users: the tier, while it holds it, and each
 * lease. The last one out unmaps it.
 */
final class MappedWeights {
  private static final System.Logger LOG = System.getLogger(MappedWeights.class.getName());

  private final Arena arena;
  private final MemorySegment memory;
  private final AutoCloseable pin;
  private int users = 1;
  private boolean evicted;

  private MappedWeights(Arena arena, MemorySegment memory, AutoCloseable pin) {
    this.arena = arena;
    this.memory = memory;
    this.pin = pin;
  }

  /** Maps a file; the first user is the tier. */
  static MappedWeights map(Path file, MemoryPinner pinner) {
    Arena arena = Arena.ofShared();
    boolean mapped = false;
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      MemorySegment memory = channel.map(MapMode.READ_ONLY, 0, channel.size(), arena);
      MappedWeights weights = new MappedWeights(arena, memory, pinner.pin(memory));
      mapped = true;
      return weights;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      if (!mapped) {
        arena.close();
      }
    }
  }

  MemorySegment memory() {
    return memory;
  }

  /** Adds a user, unless the tier has let go. */
  synchronized boolean retain() {
    if (evicted) {
      return false;
    }
    users++;
    return true;
  }

  /** The tier lets go. */
  void evict() {
    synchronized (this) {
      evicted = true;
    }
    release();
  }

  /** A user leaves; never throws. */
  synchronized void release() {
    users--;
    if (users == 0) {
      try {
        pin.close();
      } catch (Exception e) {
        LOG.log(Level.WARNING, "weights of " + memory.byteSize() + " bytes stay pinned", e);
      } finally {
        arena.close();
      }
    }
  }
}
