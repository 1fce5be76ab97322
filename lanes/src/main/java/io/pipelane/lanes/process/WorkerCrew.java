package io.pipelane.lanes.process;

import io.pipelane.lanes.cpu.ProcessPriority;

/**
 * Which worker processes there are beside the active one.
 *
 * @param standbys those that are ready to take over
 * @param offlineApart whether offline work has a worker of its own
 * @param offlinePriority what the processor gives that worker
 * @param buildsAtOnce standbys that build and warm up at the same time, one session after another
 *     each; at least 1
 */
public record WorkerCrew(
    int standbys, boolean offlineApart, ProcessPriority offlinePriority, int buildsAtOnce) {
  /** So many that stand by, and build all at the same time. */
  public static WorkerCrew of(int standbys) {
    return new WorkerCrew(standbys, false, ProcessPriority.USUAL, Math.max(1, standbys));
  }

  /** Workers, the active one included, that keep each session. */
  int size() {
    return (offlineApart ? 2 : 1) + standbys;
  }
}
