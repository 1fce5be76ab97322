package io.pipelane.lanes.execution;

import java.util.List;

/** A session whose runs are another one's with something about them. */
public abstract class ForwardingSession implements ModelSession {
  protected final ModelSession session;

  /**
   * Passes everything but runs on.
   *
   * @param session closed with this
   */
  protected ForwardingSession(ModelSession session) {
    this.session = session;
  }

  @Override
  public long frameworkBytes() {
    return session.frameworkBytes();
  }

  @Override
  public boolean isCaptured() {
    return session.isCaptured();
  }

  @Override
  public List<String> notes() {
    return session.notes();
  }

  @Override
  public void shrink() {
    session.shrink();
  }

  @Override
  public void captureAgain() {
    session.captureAgain();
  }

  @Override
  public void close() {
    session.close();
  }
}
