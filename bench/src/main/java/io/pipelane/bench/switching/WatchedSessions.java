package io.pipelane.bench.switching;

import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.ForwardingSession;
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
import org.jspecify.annotations.Nullable;

/** A device's sessions, which it lets others look at, and whose waiting it can change. */
final class WatchedSessions implements SessionFactory {
  private final SessionFactory sessions;
  private final Map<ModelVersion, ModelSession> built = new ConcurrentHashMap<>();
  private volatile boolean synchronising;

  WatchedSessions(SessionFactory sessions) {
    this.sessions = sessions;
  }

  /** The session that was last built for a model. */
  Optional<ModelSession> of(ModelVersion version) {
    return Optional.ofNullable(built.get(version));
  }

  void synchroniseEachGroup(boolean synchronise) {
    synchronising = synchronise;
  }

  @Override
  public boolean boundToLane() {
    return sessions.boundToLane();
  }

  @Override
  public ModelSession gated(
      ImportedModel model, long address, @Nullable EphemeralRegion lane, MemoryTarget constants) {
    ModelSession session = sessions.gated(model, address, lane, constants);
    built.put(model.version(), session);
    return new Watched(session);
  }

  @Override
  public long frameworkBytes() {
    return sessions.frameworkBytes();
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
  public String runtimeVersion() {
    return sessions.runtimeVersion();
  }

  @Override
  public void close() {
    sessions.close();
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
