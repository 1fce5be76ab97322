package io.pipelane.switcher;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.ForwardingSession;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Sessions of the processor that are another factory's, each with something about it. */
record WrappedSessions(SessionFactory sessions, UnaryOperator<ModelSession> wrapping)
    implements SessionFactory {
  /** A session whose runs are another one's. */
  abstract static class Wrapped extends ForwardingSession {
    Wrapped(ModelSession session) {
      super(session);
    }

    @Override
    public void run(
        Invocation invocation,
        EphemeralRegion region,
        MemoryTarget.Growth growth,
        WeightArrivals weights) {
      session.run(invocation, region, growth, weights);
    }
  }

  @Override
  public ModelSession gated(
      ImportedModel model, long address, @Nullable EphemeralRegion lane, MemoryTarget constants) {
    return wrapping.apply(sessions.gated(model, address, lane, constants));
  }

  @Override
  public boolean boundToLane() {
    return false;
  }

  @Override
  public String runtimeVersion() {
    return sessions.runtimeVersion();
  }

  @Override
  public void close() {
    sessions.close();
  }
}
