package io.pipelane.lanes.process;

import java.util.List;

/**
 * The worker processes of a device at one moment.
 *
 * @param started workers started since the beginning
 * @param lost those of them that ended without being told to
 * @param lastLoss what became of the last of those; empty when there is none
 * @param lastPauseNanos how long nobody was active before the last of the others took over
 */
public record WorkersOverview(
    List<Entry> workers, long started, long lost, String lastLoss, long lastPauseNanos) {
  /** No worker processes: sessions run in the server's own. */
  public static final WorkersOverview NONE = new WorkersOverview(List.of(), 0, 0, "", 0);

  public WorkersOverview {
    workers = List.copyOf(workers);
  }

  WorkersOverview with(List<Entry> others) {
    return new WorkersOverview(others, started, lost, lastLoss, lastPauseNanos);
  }

  /**
   * One worker.
   *
   * @param id counted from 1
   * @param sessions built there
   * @param memoryBytes memory of the process that no file or other process shares
   */
  public record Entry(int id, long pid, WorkerState state, int sessions, long memoryBytes) {}
}
