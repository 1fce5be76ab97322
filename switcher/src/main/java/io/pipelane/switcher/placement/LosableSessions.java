package io.pipelane.switcher.placement;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.ForwardingSession;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import org.jspecify.annotations.Nullable;

/**
 * Sessions of another factory, whose device can be lost on demand: from then on every run there
 * fails, those under way included, as on a GPU that has fallen off the bus.
 */
public final class LosableSessions implements SessionFactory {
  private final SessionFactory sessions;
  private volatile boolean lost;

  /**
   * The sessions of a factory.
   *
   * @param sessions closed with this
   */
  public LosableSessions(SessionFactory sessions) {
    this.sessions = sessions;
  }

  /** Loses the device; nothing brings it back. */
  public void lose() {
    lost = true;
  }

  @Override
  public boolean isLost() {
    return lost || sessions.isLost();
  }

  private void requireThere() {
    if (lost) {
      throw new StatusException(Status.DEVICE_FAILURE, "the device was lost, on demand");
    }
  }

  @Override
  public boolean boundToLane() {
    return sessions.boundToLane();
  }

  @Override
  public boolean computesOnCaller() {
    return sessions.computesOnCaller();
  }

  @Override
  public ModelSession gated(
      ImportedModel model, long address, @Nullable EphemeralRegion lane, MemoryTarget constants) {
    requireThere();
    return new Session(sessions.gated(model, address, lane, constants));
  }

  @Override
  public ModelSession gated(
      ImportedModel model,
      long address,
      @Nullable EphemeralRegion lane,
      MemoryTarget constants,
      Priority priority) {
    requireThere();
    return new Session(sessions.gated(model, address, lane, constants, priority));
  }

  @Override
  public boolean runsOfflineApart() {
    return sessions.runsOfflineApart();
  }

  @Override
  public int processes() {
    return sessions.processes();
  }

  @Override
  public long frameworkBytes() {
    return sessions.frameworkBytes();
  }

  @Override
  public String owner(ImportedModel model) {
    return sessions.owner(model);
  }

  @Override
  public void forget(ImportedModel model) {
    sessions.forget(model);
  }

  @Override
  public void tidy() {
    sessions.tidy();
  }

  @Override
  public boolean reset(String reason) {
    return sessions.reset(reason);
  }

  @Override
  public String runtimeVersion() {
    return sessions.runtimeVersion();
  }

  @Override
  public void close() {
    sessions.close();
  }

  private final class Session extends ForwardingSession {
    Session(ModelSession session) {
      super(session);
    }

    @Override
    public void run(
        Invocation invocation,
        EphemeralRegion region,
        MemoryTarget.Growth growth,
        WeightArrivals weights) {
      requireThere();
      session.run(invocation, region, growth, weights);
      requireThere();
    }
  }
}
