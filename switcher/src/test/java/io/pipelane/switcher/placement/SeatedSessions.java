package io.pipelane.switcher.placement;

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
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Sessions of the processor that belong to a lane each, as those of a GPU do; they stand in for
 * captures by counting their runs.
 */
final class SeatedSessions implements SessionFactory {
  private final SessionFactory sessions;
  private final ConcurrentMap<Seat, AtomicInteger> runs = new ConcurrentHashMap<>();
  private volatile Runnable behindAnswers = () -> {};

  /** A session of a model in a lane. */
  private record Seat(ModelVersion model, long lane) {}

  SeatedSessions(SessionFactory sessions) {
    this.sessions = sessions;
  }

  /** How often each of a model's sessions has run, the least first. */
  List<Integer> runs(ModelVersion model) {
    return runs.entrySet().stream()
        .filter(each -> each.getKey().model.equals(model))
        .map(each -> each.getValue().get())
        .sorted()
        .toList();
  }

  /** Has runs do something once they have answered, as a GPU makes captures. */
  void behindAnswers(Runnable work) {
    behindAnswers = work;
  }

  @Override
  public boolean boundToLane() {
    return true;
  }

  @Override
  public ModelSession gated(
      ImportedModel model, long address, @Nullable EphemeralRegion lane, MemoryTarget constants) {
    EphemeralRegion own = Objects.requireNonNull(lane);
    Seat seat = new Seat(model.version(), own.address());
    AtomicInteger counted = new AtomicInteger();
    runs.put(seat, counted);
    return new Session(sessions.gated(model, address, null, constants), own, counted);
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
    private final EphemeralRegion lane;
    private final AtomicInteger runs;

    Session(ModelSession session, EphemeralRegion lane, AtomicInteger runs) {
      super(session);
      this.lane = lane;
      this.runs = runs;
    }

    @Override
    public void run(
        Invocation invocation,
        EphemeralRegion region,
        MemoryTarget.Growth growth,
        WeightArrivals weights) {
      if (region.address() != lane.address()) {
        throw new IllegalStateException("the session belongs to another lane");
      }
      session.run(invocation, region, growth, weights);
      runs.incrementAndGet();
      invocation.placed();
      behindAnswers.run();
    }
  }
}
