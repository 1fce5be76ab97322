package io.pipelane.switcher.sharing.gate;

import io.pipelane.modelstore.ModelVersion;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The share of its own speed that offline work may have, so that no online model runs slower beside
 * it than the model's owner lets it. {@link #steer} belongs to one thread, everything else is for
 * any.
 */
public final class Slowdowns {
  /*
   * The throttle's load is the worst model's slowdown as part of its limit, and its target is 1. A
   * look without news of that model moves nothing. So a single slow run is not integrated until the
   * next one, whatever others have to tell. A model that has to be alone stops offline work past
   * the throttle, which learns nothing from that.
   *
   * The gain of the loop is the slowdown at full speed over the limit, below 1 where offline work
   * less than doubles the time of runs. A load is bounded, so beyond that it may swing, but not
   * grow.
   */
  private final Map<ModelVersion, Slowdown> models = new ConcurrentHashMap<>();
  private final LaunchThrottle throttle = new LaunchThrottle(1, 0);
  private long steeredNanos;
  private long lookedNanos;
  private boolean stopped;

  Slowdowns(long nowNanos) {
    steeredNanos = nowNanos;
    lookedNanos = nowNanos;
  }

  /**
   * A model's owner has said what is too much.
   *
   * @param most times as long as alone that its runs may take; empty for any
   */
  public void agree(ModelVersion model, Optional<Double> most) {
    models.compute(
        model,
        (_, before) -> {
          if (most.isEmpty()) {
            return null;
          }
          return before != null && before.most() == most.get() ? before : new Slowdown(most.get());
        });
  }

  /** A model is in service no longer. */
  public void forget(ModelVersion model) {
    models.remove(model);
  }

  /**
   * An online run has ended well that had all its weights.
   *
   * @param kind equal for runs that take the same time alone
   * @param nanos that it computed
   * @param besideOffline whether offline work computed meanwhile, see {@link OfflineRuns#mark}
   */
  public void ran(ModelVersion model, Object kind, long nanos, boolean besideOffline) {
    @Nullable Slowdown slowdown = models.get(model);
    if (slowdown != null) {
      slowdown.ran(kind, nanos, besideOffline);
    }
  }

  /** Takes in what has run since the time before; returns the share from now on. */
  public double steer(long nowNanos) {
    double seconds = (nowNanos - lookedNanos) / 1e9;
    lookedNanos = nowNanos;
    double worst = 0;
    boolean isNew = models.isEmpty();
    stopped = false;
    for (Slowdown slowdown : models.values()) {
      boolean tells = slowdown.look(seconds);
      double load = slowdown.load();
      if (load > worst) {
        worst = load;
        isNew = tells;
      } else if (load == worst) {
        isNew |= tells;
      }
      stopped |= slowdown.mustBeAlone();
    }
    if (isNew) {
      throttle.update(worst, (nowNanos - steeredNanos) / 1e9);
      steeredNanos = nowNanos;
    }
    return share();
  }

  /** The least that an owner allows; empty where none says. */
  OptionalDouble strictest() {
    return models.values().stream().mapToDouble(Slowdown::most).min();
  }

  /** Between 0, which stops offline work, and 1; no pauses longer than the least share's. */
  public double share() {
    double share = throttle.share();
    return stopped || share < LaunchThrottle.LEAST_SHARE ? 0 : share;
  }

  /** How many times as long as alone runs take, of models whose owners limit that. */
  public Map<ModelVersion, Double> ratios() {
    Map<ModelVersion, Double> ratios = new HashMap<>();
    models.forEach((model, slowdown) -> ratios.put(model, slowdown.ratio()));
    return Map.copyOf(ratios);
  }
}
