package io.pipelane.server.observability;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.observability.TraceSetting.Level;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The settings of which requests are traced: one for all models, and what single ones have
 * otherwise. Safe for any thread.
 */
public final class TraceSettings {
  /*
   * `state` is immutable and replaced as a whole, under the monitor; readers take no lock. A change
   * of a setting begins its counts anew. A model with a setting of its own is counted by itself,
   * all others are counted together.
   */

  /** Models that may have a setting of their own. */
  static final int MAXIMUM_MODELS = 10_000;

  private final TraceSetting initial;
  private final boolean goesSomewhere;
  private volatile State state;

  /**
   * @param initial what holds for all models at first, and whatever is given up again
   */
  public TraceSettings(TraceSetting initial) {
    this(initial, true);
  }

  private TraceSettings(TraceSetting initial, boolean goesSomewhere) {
    this.initial = initial;
    this.goesSomewhere = goesSomewhere;
    this.state = new State(new TraceSampling(initial), Map.of());
  }

  /** Of a server whose traces would go nowhere: none can be asked for. */
  public static TraceSettings nowhere() {
    return new TraceSettings(TraceSetting.OFF, false);
  }

  private record Own(TraceChange change, TraceSampling sampling) {}

  private record State(TraceSampling all, Map<String, Own> models) {
    TraceSampling of(String model) {
      Own own = models.isEmpty() ? null : models.get(model);
      return own == null ? all : own.sampling;
    }
  }

  /** What says which requests of a model are traced, as it is now. */
  TraceSampling sampling(String model) {
    return state.of(model);
  }

  /** What holds for all models that have no setting of their own. */
  public TraceSetting setting() {
    return state.all.now();
  }

  /** What holds for a model. */
  public TraceSetting setting(String model) {
    return state.of(model).now();
  }

  /** What is given up again becomes what it was at first. */
  public TraceSetting initial() {
    return initial;
  }

  /** What a model has otherwise than all; {@link TraceChange#NONE} for nothing. */
  public TraceChange own(String model) {
    Own own = state.models.get(model);
    return own == null ? TraceChange.NONE : own.change;
  }

  /**
   * Sets what holds for all models; those with a setting of their own follow in the rest.
   *
   * @throws StatusException {@link Status#UNIMPLEMENTED} when traces are asked for that would go
   *     nowhere
   */
  public synchronized void set(TraceSetting setting) {
    check(setting.level());
    Map<String, Own> models = new HashMap<>();
    state.models.forEach((model, own) -> models.put(model, own(own.change, setting)));
    state = new State(new TraceSampling(setting), Map.copyOf(models));
  }

  /**
   * Sets what one model has otherwise.
   *
   * @param change all of it, or {@link TraceChange#NONE} for nothing
   * @throws StatusException when it is not valid, too many models have one, or traces are asked for
   *     that would go nowhere
   */
  public synchronized void set(String model, TraceChange change) {
    check(change.level());
    Map<String, Own> models = new HashMap<>(state.models);
    Own own = change.equals(TraceChange.NONE) ? null : own(change, state.all.now());
    replace(models, model, own);
    if (models.size() > MAXIMUM_MODELS) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "%d models have a trace setting of their own, as many as may; clear one, or set it for all"
              .formatted(MAXIMUM_MODELS));
    }
    state = new State(state.all, Map.copyOf(models));
  }

  private void check(@Nullable Level level) {
    if (level == Level.TIMESTAMPS && !goesSomewhere) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          "trace_level TIMESTAMPS: the server has nowhere to send traces to; set tracing.endpoint");
    }
  }

  private static void replace(Map<String, Own> models, String model, @Nullable Own own) {
    if (own == null) {
      models.remove(model);
    } else {
      models.put(model, own);
    }
  }

  private static Own own(TraceChange change, TraceSetting all) {
    return new Own(change, new TraceSampling(change.applyTo(all)));
  }
}
