package io.pipelane.cluster.simulator;

import java.util.List;

/**
 * A type of GPU: how fast it is, and how workloads on it hinder each other. All figures are
 * assumed.
 *
 * @param speed how much faster than a T4 it runs everything that it has for itself
 * @param contention what memory traffic of two workloads costs both, per unit of their product
 * @param smallShare the power by which time grows as multiprocessors are taken away; 1 is
 *     proportional
 * @param clockDrop how much of its clock it loses when all multiprocessors are busy, cooled as most
 *     are
 * @param coolUntil the activity from which on the clock falls
 */
public record GpuType(
    String name,
    double speed,
    double contention,
    double smallShare,
    double clockDrop,
    double coolUntil) {
  /** A small card for inference, whose clock falls under load (MuxFlow §4.1). */
  public static final GpuType T4_LIKE = new GpuType("T4-like", 1, 0.5, 0.85, 0.45, 0.5);

  /** A large one with much memory bandwidth and good cooling. */
  public static final GpuType H200_LIKE = new GpuType("H200-like", 4, 0.3, 0.7, 0.1, 0.7);

  /** Those that there are. */
  public static final List<GpuType> ALL = List.of(T4_LIKE, H200_LIKE);

  /** The clock at an activity, of the highest. */
  double clock(double activity, double heat) {
    double beyond = Math.max(0, activity - coolUntil) / (1 - coolUntil);
    return Math.max(0.3, 1 - clockDrop * heat * beyond);
  }
}
