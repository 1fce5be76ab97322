package io.pipelane.lanes.process;

import io.pipelane.modelstore.ModelVersion;
import java.util.ArrayList;
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

  /** These and another device's. */
  public WorkersOverview and(WorkersOverview other) {
    List<Entry> all = new ArrayList<>(workers);
    all.addAll(other.workers);
    return new WorkersOverview(
        all,
        started + other.started,
        lost + other.lost,
        other.lastLoss.isEmpty() ? lastLoss : other.lastLoss,
        Math.max(lastPauseNanos, other.lastPauseNanos));
  }

  WorkersOverview with(List<Entry> others) {
    return new WorkersOverview(others, started, lost, lastLoss, lastPauseNanos);
  }

  /**
   * A model that a worker can run at once, and the variants of its structure with it.
   *
   * @param sessions built there: one, or one for each lane
   */
  public record BuiltModel(ModelVersion version, int sessions) {}

  /**
   * One worker.
   *
   * @param id counted from 1
   * @param sessions built or being built there
   * @param models those whose sessions are built, by name
   * @param warmedUp shapes that they have run with before anybody asked for it
   * @param memoryBytes memory of the process that no file or other process shares
   * @param device what it runs on
   * @param deviceBytes what it takes there: its sessions' constants, and what belongs to none
   * @param frameworkBytes what belongs to none: on a GPU its share of what the driver counts beside
   *     all accounts, on the processor what it has in memory beside constants
   */
  public record Entry(
      int id,
      long pid,
      WorkerState state,
      int sessions,
      List<BuiltModel> models,
      int warmedUp,
      long memoryBytes,
      String device,
      long deviceBytes,
      long frameworkBytes) {
    public Entry {
      models = List.copyOf(models);
    }

    /** The same on a device where so much belongs to no session. */
    Entry on(String name, long beside) {
      return new Entry(
          id,
          pid,
          state,
          sessions,
          models,
          warmedUp,
          memoryBytes,
          name,
          deviceBytes + beside,
          frameworkBytes + beside);
    }
  }
}
