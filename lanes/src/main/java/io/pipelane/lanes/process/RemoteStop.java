package io.pipelane.lanes.process;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.process.channel.GoWord;
import org.jspecify.annotations.Nullable;

/**
 * The server's stop word for a run in a worker: has it stop, end or slow down at its gates. Safe
 * for any thread.
 */
final class RemoteStop implements StopWord {
  private final GoWord go;
  private final boolean stops;
  private volatile boolean heldBack;
  private volatile @Nullable StatusException endReason;

  /**
   * Says nothing yet.
   *
   * @param stops whether the run has gates at which it can
   */
  RemoteStop(GoWord go, boolean stops) {
    this.go = go;
    this.stops = stops;
  }

  /** No run is under way: the next may go on. */
  void begin() {
    go.begin();
  }

  /** Has the run end for its worker's sake, which is no reason for its caller. */
  void endForWorker() {
    go.end();
  }

  /** Whether the run may have taken longer than it computed. */
  boolean hasHeldBack() {
    return heldBack;
  }

  /** Why its caller has ended the run, if that is so. */
  @Nullable StatusException endReason() {
    return endReason;
  }

  @Override
  public boolean stops() {
    return stops;
  }

  @Override
  public void end(StatusException reason) {
    endReason = reason;
    go.end();
  }

  @Override
  public void allow(double share) {
    heldBack |= share < 1;
    go.allow(share);
  }

  @Override
  public void expect(long fromNanos, long untilNanos) {
    heldBack |= untilNanos > 0;
    go.expect(fromNanos, untilNanos);
  }

  @Override
  public boolean stands() {
    return go.stands();
  }
}
