package io.pipelane.lanes.cuda;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The pinning of memory in the first of several ways that succeeds. A lost GPU pins nothing any
 * more, and what another has pinned is pinned for all.
 *
 * @param ways one at least, in the order in which they are tried
 */
record FirstPinning<P>(List<Function<MemorySegment, P>> ways)
    implements Function<MemorySegment, P> {
  FirstPinning {
    ways = List.copyOf(ways);
    if (ways.isEmpty()) {
      throw new IllegalArgumentException("there is no way to pin memory; name one at least");
    }
  }

  /**
   * Pins memory.
   *
   * @throws RuntimeException that of the first way, if none succeeds
   */
  @Override
  public P apply(MemorySegment memory) {
    @Nullable RuntimeException first = null;
    for (Function<MemorySegment, P> way : ways) {
      try {
        return way.apply(memory);
      } catch (RuntimeException e) {
        if (first == null) {
          first = e;
        } else {
          first.addSuppressed(e);
        }
      }
    }
    throw Objects.requireNonNull(first);
  }
}
