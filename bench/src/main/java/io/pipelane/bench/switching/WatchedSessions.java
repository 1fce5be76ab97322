package io.pipelane.bench.switching;

import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.ForwardingSession;
import io.pipelane.lanes.execution.ForwardingSessions;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** A device's sessions, which it lets others look at, and whose waiting it can change. */
final class WatchedSessions extends ForwardingSessions {
  private final Map<ModelVersion, ModelSession> built = new ConcurrentHashMap<>();
  private volatile boolean synchronising;

  WatchedSessions(SessionFactory sessions) {
    super(sessions);
  }

  /** The session that was last built for a model. */
  Optional<ModelSession> of(ModelVersion version) {
    return Optional.ofNullable(built.get(version));
  }

  void synchroniseEachGroup(boolean synchronise) {
    synchronising = synchronise;
  }

  @Override
  protected ModelSession build(ImportedModel model, Supplier<ModelSession> building) {
    ModelSession session = building.get();
    built.put(model.version(), session);
    return new Watched(session);
  }

  private final class Watched extends ForwardingSession {
    Watched(ModelSession session) {
      super(session);
    }

    @Override
    public void run(
        Invocation invocation,
        EphemeralRegion region,
        MemoryTarget.Growth growth,
        WeightArrivals weights) {
      session.run(invocation, region, growth, synchronising ? new Synchronised(weights) : weights);
    }
  }

  /** Arrivals that the processor waits for, so that the device never has to. */
  private record Synchronised(WeightArrivals weights) implements WeightArrivals {
    @Override
    public void await(int segment) {
      weights.await(segment);
    }

    @Override
    public List<DeviceEvent> before(int segment) {
      weights.before(segment).forEach(DeviceEvent::await);
      return List.of();
    }

    @Override
    public void computed(long[] segmentNanos) {
      weights.computed(segmentNanos);
    }

    @Override
    public void stalled(long nanos) {
      weights.stalled(nanos);
    }
  }
}
