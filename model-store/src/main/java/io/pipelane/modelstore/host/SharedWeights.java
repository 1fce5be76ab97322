package io.pipelane.modelstore.host;

import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;

/**
 * A weights file in host memory, counted by its users: the tier, while it holds it, and each lease.
 * The last one out gives the memory back.
 */
final class SharedWeights {
  private static final System.Logger LOG = System.getLogger(SharedWeights.class.getName());

  private final HostMemory.Loaded loaded;
  private final MemorySegment memory;
  private int users = 1;
  private boolean evicted;

  /** Takes charge of a loaded file; the first user is the tier. */
  SharedWeights(HostMemory.Loaded loaded) {
    this.loaded = loaded;
    this.memory = loaded.memory();
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
        loaded.close();
      } catch (RuntimeException e) {
        LOG.log(Level.WARNING, "weights of " + memory.byteSize() + " bytes stay in memory", e);
      }
    }
  }
}
