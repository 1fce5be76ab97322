package io.pipelane.server.device;

import io.pipelane.modelstore.ModelVersion;
import java.util.HashMap;
import java.util.Map;

/**
 * Which device a version is registered with: all versions of a model with the same, so that they
 * can share a structure, and a model's first with the device that has the fewest bytes of weights.
 * Safe for any thread.
 */
final class DevicePlacement {
  private final long[] placedBytes;
  private final Map<String, Integer> deviceOf = new HashMap<>();
  private final Map<ModelVersion, Long> bytesOf = new HashMap<>();

  DevicePlacement(int devices) {
    placedBytes = new long[devices];
  }

  /**
   * Places a version.
   *
   * @return the device's index
   * @throws IllegalStateException when it is placed already
   */
  synchronized int place(ModelVersion version, long weightBytes) {
    if (bytesOf.putIfAbsent(version, weightBytes) != null) {
      throw new IllegalStateException(version + " is placed already");
    }
    int device = deviceOf.computeIfAbsent(version.model(), model -> leastLoaded());
    placedBytes[device] += weightBytes;
    return device;
  }

  /** Takes a version away; its model may go elsewhere once none is left. */
  synchronized void remove(ModelVersion version) {
    Long bytes = bytesOf.remove(version);
    Integer device = deviceOf.get(version.model());
    if (bytes == null || device == null) {
      return;
    }
    placedBytes[device] -= bytes;
    if (bytesOf.keySet().stream().noneMatch(other -> other.model().equals(version.model()))) {
      deviceOf.remove(version.model());
    }
  }

  private int leastLoaded() {
    int least = 0;
    for (int i = 1; i < placedBytes.length; i++) {
      if (placedBytes[i] < placedBytes[least]) {
        least = i;
      }
    }
    return least;
  }
}
