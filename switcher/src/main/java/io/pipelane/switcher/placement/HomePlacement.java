package io.pipelane.switcher.placement;

import io.pipelane.modelstore.ModelVersion;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * The choice of a version's first device. All versions of a model have the same one, so that they
 * can share a structure. A new model's is the device with the fewest bytes of weights. Safe for any
 * thread.
 */
final class HomePlacement {
  private final long[] placedBytes;
  private final Map<String, Integer> deviceOf = new HashMap<>();
  private final Map<ModelVersion, Integer> placedOn = new HashMap<>();
  private final Map<ModelVersion, Long> bytesOf = new HashMap<>();

  HomePlacement(int devices) {
    placedBytes = new long[devices];
  }

  /**
   * Places a version.
   *
   * @param usable which devices there are to choose from, one at least
   * @return the device's index
   * @throws IllegalStateException when it is placed already
   */
  synchronized int place(ModelVersion version, long weightBytes, IntPredicate usable) {
    if (bytesOf.putIfAbsent(version, weightBytes) != null) {
      throw new IllegalStateException(version + " is placed already");
    }
    Integer known = deviceOf.get(version.model());
    int device = known != null && usable.test(known) ? known : leastLoaded(usable);
    deviceOf.put(version.model(), device);
    placedOn.put(version, device);
    placedBytes[device] += weightBytes;
    return device;
  }

  /** Takes a version away; its model may go elsewhere once none is left. */
  synchronized void remove(ModelVersion version) {
    Long bytes = bytesOf.remove(version);
    Integer device = placedOn.remove(version);
    if (bytes == null || device == null) {
      return;
    }
    placedBytes[device] -= bytes;
    if (bytesOf.keySet().stream().noneMatch(other -> other.model().equals(version.model()))) {
      deviceOf.remove(version.model());
    }
  }

  private int leastLoaded(IntPredicate usable) {
    return IntStream.range(0, placedBytes.length)
        .filter(usable)
        .boxed()
        .min(Comparator.comparingLong(device -> placedBytes[device]))
        .orElseThrow();
  }
}
