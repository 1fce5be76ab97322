package io.pipelane.lanes.process;

import io.pipelane.lanes.execution.WorkerLostException.Blame;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The structures that have cost workers when their runs were captured, which is after the answer,
 * so that no request tells of it. After two in a row none of such a structure is captured any more.
 * Safe for any thread.
 */
final class CaptureLosses {
  /** Once it may have been something else, which cost a capture and nothing more. */
  private static final int MOST = 2;

  private final Map<String, Integer> losses = new ConcurrentHashMap<>();

  /**
   * A worker was lost at it.
   *
   * @return whether that was once too often
   */
  boolean lost(String structure, Blame blame) {
    return blame != Blame.OTHERS && losses.merge(structure, 1, Integer::sum) == MOST;
  }

  /** A capture was made, or given up, and its worker lives. */
  void survived(String structure) {
    losses.computeIfPresent(structure, (_, count) -> count < MOST ? null : count);
  }

  /** Whether it is to be captured no more. */
  boolean isRefused(String structure) {
    return losses.getOrDefault(structure, 0) >= MOST;
  }

  /** A model of it is gone, and may come back mended. */
  void forget(String structure) {
    losses.remove(structure);
  }
}
