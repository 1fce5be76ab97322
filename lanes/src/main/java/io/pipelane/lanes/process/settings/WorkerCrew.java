package io.pipelane.lanes.process.settings;

import io.pipelane.lanes.cpu.ProcessPriority;

/**
 * The crew of worker processes beside the active one.
 *
 * @param standbys those that are ready to take over
 * @param offlineApart whether offline work has a worker of its own
 * @param offlinePriority what the processor gives that worker
 * @param mostBuilds how many may build and warm up at the same time, however many stand by
 */
public record WorkerCrew(
    int standbys, boolean offlineApart, ProcessPriority offlinePriority, int mostBuilds) {
  /** So many that stand by, and build all at the same time. */
  public static WorkerCrew of(int standbys) {
    return new WorkerCrew(standbys, false, ProcessPriority.USUAL, standbys);
  }

  /** Workers that run requests at a time. */
  public int posts() {
    return offlineApart ? 2 : 1;
  }

  /** Workers, the active one included, that keep each session. */
  public int size() {
    return posts() + standbys;
  }

  /** Standbys that build and warm up at the same time, one session after another each. */
  public int buildsAtOnce() {
    return Math.clamp(mostBuilds, 1, Math.max(1, size() - 1));
  }
}
