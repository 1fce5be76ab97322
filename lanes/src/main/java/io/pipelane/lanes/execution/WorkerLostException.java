package io.pipelane.lanes.execution;

import java.io.Serial;

/**
 * The process that ran or built a session is gone, with all that was under way in it; nothing of it
 * touches a lane or a page any more, and no output has been placed. The same may succeed elsewhere.
 */
public final class WorkerLostException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  /**
   * A loss.
   *
   * @param reason what became of the process
   */
  public WorkerLostException(String reason) {
    super(reason);
  }
}
