package io.pipelane.switcher.memory;

import java.util.ArrayList;
import java.util.List;

/**
 * A graph without its weights, as the memory daemon sees it: the ranges of addresses that its
 * variants' weights take turns in. Its identity is what sessions are shared by.
 *
 * <p>All but its hash is guarded by the daemon's lock.
 */
public final class Structure {
  final List<StructureRange> ranges = new ArrayList<>();
  private final String hash;

  Structure(String hash) {
    this.hash = hash;
  }

  /** Identifies the graph without what is streamed. */
  public String hash() {
    return hash;
  }
}
