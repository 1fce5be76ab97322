package io.pipelane.switcher.placement;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.ForwardingSession;
import io.pipelane.lanes.execution.ForwardingSessions;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import java.util.function.Supplier;

/**
 * Sessions of another factory, whose device can be lost on demand: from then on every run there
 * fails, those under way included, as on a GPU that has fallen off the bus.
 */
public final class LosableSessions extends ForwardingSessions {
  private volatile boolean lost;

  /**
   * The sessions of a factory.
   *
   * @param sessions closed with this
   */
  public LosableSessions(SessionFactory sessions) {
    super(sessions);
  }

  /** Loses the device; nothing brings it back. */
  public void lose() {
    lost = true;
  }

  @Override
  public boolean isLost() {
    return lost || super.isLost();
  }

  private void requireThere() {
    if (lost) {
      throw new StatusException(Status.DEVICE_FAILURE, "the device was lost, on demand");
    }
  }

  @Override
  protected ModelSession build(ImportedModel model, Supplier<ModelSession> building) {
    requireThere();
    return new Session(building.get());
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
