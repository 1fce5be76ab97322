package io.pipelane.lanes.execution;

import io.pipelane.lanes.execution.WorkerLostException.Blame;
import java.io.Serial;

/**
 * The end of the process that ran or built a session, which the system still keeps. Its threads
 * compute nothing any more, but its mappings are there, and what it has given a device to do. So
 * the same may not be done anew, and nothing that a run was lent be given back, before {@link
 * #awaitGone} has returned.
 */
public final class WorkerStuckException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  private final Blame blame;
  private final transient Runnable untilGone;

  /**
   * A process that does not end.
   *
   * @param reason what became of it
   * @param blame what it was ended for
   * @param untilGone returns once it is gone
   */
  public WorkerStuckException(String reason, Blame blame, Runnable untilGone) {
    super(reason);
    this.blame = blame;
    this.untilGone = untilGone;
  }

  public Blame blame() {
    return blame;
  }

  /** Blocks until the process is gone with all that it had, however long that takes. */
  public void awaitGone() {
    untilGone.run();
  }
}
