package io.pipelane.lanes.monitor;

import org.jspecify.annotations.Nullable;

/** The GPUs of the machine that CUDA lets this process see; NVML sees all of them. */
final class VisibleDevices {
  private VisibleDevices() {}

  /**
   * NVML's index of a GPU that CUDA counts.
   *
   * @param visible the value of CUDA_VISIBLE_DEVICES; null where it is not set
   * @param ordinal as CUDA counts; taken as it is where the value lists no indices
   */
  static int physical(@Nullable String visible, int ordinal) {
    if (visible == null) {
      return ordinal;
    }
    String[] listed = visible.split(",", -1);
    if (ordinal >= listed.length || !listed[ordinal].strip().matches("\\d{1,4}")) {
      return ordinal;
    }
    return Integer.parseInt(listed[ordinal].strip());
  }
}
