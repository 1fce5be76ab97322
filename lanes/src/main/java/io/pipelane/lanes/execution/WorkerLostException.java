package io.pipelane.lanes.execution;

import java.io.Serial;

/**
 * The loss of the process that ran or built a session, with all that was under way in it. Nothing
 * of it touches a lane, a page or an output's place any more. The same may succeed elsewhere, and
 * asks for the same places again. What a session is built of is not lent: for that, a process that
 * was killed counts as gone. For a run it is {@link WorkerStuckException} until it is gone.
 */
public final class WorkerLostException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  private final Blame blame;

  /** The possible cause of the loss. */
  public enum Blame {
    /** What was interrupted, for certain: it alone hung, or its answer could not be. */
    NAMED,
    /** What was interrupted, as nothing else was under way there. */
    ALONE,
    /** Something else, for certain. */
    OTHERS,
    /** The process had no memory left: who asked for it last need not be who has it. */
    SHORTAGE,
    /** Several things were under way, or hung together, and any of them may be the reason. */
    UNKNOWN
  }

  /**
   * A loss.
   *
   * @param reason what became of the process
   */
  public WorkerLostException(String reason, Blame blame) {
    super(reason);
    this.blame = blame;
  }

  public Blame blame() {
    return blame;
  }
}
