package io.pipelane.runtime.graph;

/**
 * The rough speed of a kind of device: good enough to say where a run is long.
 *
 * <p>These are constants, not measurements of the device at hand, because a structure must be cut
 * the same in every version and at every import.
 *
 * @param operationsPerSecond floating-point operations of products and convolutions, a
 *     multiplication and its addition counted as two
 * @param bytesPerSecond of everything else
 * @param nodeNanos what a node takes at least
 * @param gateNanos what a gate takes
 * @param gatedTensorNanos what each tensor adds that passes it
 */
record DeviceSpeed(
    double operationsPerSecond,
    double bytesPerSecond,
    long nodeNanos,
    long gateNanos,
    long gatedTensorNanos) {
  /** One core: of ResNet-50's training, convolutions reach 1.2e11, other nodes mostly 1e10. */
  static final DeviceSpeed PROCESSOR = new DeviceSpeed(1.2e11, 1e10, 1_000, 2_000, 300);

  /** Gates are not executed in captured runs; a graph more is launched instead. */
  static final DeviceSpeed GPU = new DeviceSpeed(5e13, 2e12, 4_000, 2_000, 0);
}
