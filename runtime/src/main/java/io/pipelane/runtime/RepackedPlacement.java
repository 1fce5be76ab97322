package io.pipelane.runtime;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The placement of one session's repacked weights where they belong while it is built: sees each of
 * its allocations, in order. Belongs to the thread that builds.
 */
public final class RepackedPlacement {
  private final Map<Integer, RepackedWeight> byAllocation = new HashMap<>();
  private final Set<Long> places = new HashSet<>();
  private final Set<Long> missing = new HashSet<>();
  private final long address;
  private int next;

  /**
   * The placement of one build.
   *
   * @param address where the weights begin
   */
  public RepackedPlacement(List<RepackedWeight> weights, long address) {
    this.address = address;
    for (RepackedWeight weight : weights) {
      byAllocation.put(weight.allocation(), weight);
      places.add(address + weight.offset());
    }
    missing.addAll(places);
  }

  /**
   * Where the session's next allocation goes.
   *
   * @return 0 where that is nobody's concern
   */
  public long next(long bytes) {
    @Nullable RepackedWeight weight = byAllocation.get(next++);
    if (weight == null || weight.packedBytes() != bytes) {
      return 0;
    }
    missing.remove(address + weight.offset());
    return address + weight.offset();
  }

  /** Whether an address is one that {@link #next} answers. */
  public boolean isPlace(long candidate) {
    return places.contains(candidate);
  }

  /** Notes that the session has let go of an address again, which may be a place. */
  public void freed(long freed) {
    if (places.contains(freed)) {
      missing.add(freed);
    }
  }

  /**
   * Checks, once the session is built, that every weight has the place it should have.
   *
   * @throws StatusException {@link Status#INTERNAL} when the session was built in another way than
   *     at import
   */
  public void check() {
    if (!missing.isEmpty()) {
      throw new StatusException(
          Status.INTERNAL,
          "%d of %d repacked weights have no place: the session was built otherwise than at import"
              .formatted(missing.size(), byAllocation.size()));
    }
  }
}
