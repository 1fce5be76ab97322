package io.pipelane.modelstore.host;

import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A weights file in host memory, or on its way there, counted by its users: the tier, while it
 * holds it, who loads it, and each lease. The last one out gives the memory back.
 */
final class SharedWeights {
  private static final System.Logger LOG = System.getLogger(SharedWeights.class.getName());

  private final long byteSize;
  private HostMemory.@Nullable Loaded loaded;
  private int users = 2;
  private boolean evicted;

  /**
   * Room for a file that is to be loaded; the first users are the tier and who loads it.
   *
   * @param byteSize of the file
   */
  SharedWeights(long byteSize) {
    this.byteSize = byteSize;
  }

  long byteSize() {
    return byteSize;
  }

  /** What was loaded. */
  synchronized MemorySegment memory() {
    return Objects.requireNonNull(loaded, "nothing has been loaded").memory();
  }

  /** The file is there; from now on there can be leases. */
  synchronized void loaded(HostMemory.Loaded content) {
    loaded = content;
  }

  /** Whether the tier has not let go. */
  synchronized boolean isHeld() {
    return !evicted;
  }

  /** Adds a user, unless there is nothing yet, or the tier has let go. */
  synchronized boolean retain() {
    if (evicted || loaded == null) {
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
    if (users == 0 && loaded != null) {
      try {
        loaded.close();
      } catch (RuntimeException e) {
        LOG.log(Level.WARNING, "weights of " + byteSize + " bytes stay in memory", e);
      }
    }
  }
}
