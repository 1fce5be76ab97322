package io.pipelane.cluster.simulator;

/** The way in which an online and an offline workload share a device. */
public enum SharingWay {
  /** There is no offline work. */
  ONLINE_ONLY,
  /** The driver gives equal slices of time to all that have work (Gandiva). */
  TIME_SLICES,
  /** Online work gets most of the time while it has work (AntMan, PAI). */
  PRIORITY_SLICES,
  /** Offline work stops at its next gate while online work is in flight, as the server does it. */
  GATES,
  /** Both run at the same time, offline work on a share of the multiprocessors (MuxFlow). */
  SPACE,
  /**
   * Offline work has the device to itself between requests, and gives way down to a share of the
   * multiprocessors while online work is in flight.
   */
  GATED_SPACE
}
