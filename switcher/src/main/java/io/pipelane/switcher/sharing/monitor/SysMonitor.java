package io.pipelane.switcher.sharing.monitor;

import io.pipelane.config.value.Thresholds;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The state of a device that online and offline work share, by its metrics (MuxFlow §4.1, GPU
 * level, figure 6b). Belongs to one thread.
 */
public final class SysMonitor {
  /*
   * From HEALTHY, a metric at its unhealthy threshold leads to UNHEALTHY, one at its overlimit
   * threshold to OVERLIMIT at once. From UNHEALTHY it is OVERLIMIT as before, and HEALTHY again
   * when every metric is better than its healthy threshold, so small changes do not go back and
   * forth. From OVERLIMIT it is UNHEALTHY when every metric is better than its overlimit threshold
   * and a period is over. That period is 2^(n-1) times the shortest where it is the n-th entry
   * within two hours. A metric that nobody measures is good.
   */
  private static final Duration ENTRIES_COUNT_FOR = Duration.ofHours(2);
  private static final int MOST_DOUBLINGS = 12;

  private final Map<SharingMetric, Thresholds> thresholds;
  private final Duration shortestPeriod;
  private final Consumer<Transition> listener;
  private final Deque<Long> entries = new ArrayDeque<>();
  private SharingState state = SharingState.INIT;

  /**
   * A change of state.
   *
   * @param cause the metric that caused it; empty where none did
   * @param reason in words, with the metric's value and threshold
   */
  public record Transition(
      SharingState from, SharingState to, Optional<SharingMetric> cause, String reason) {}

  private record Finding(SharingMetric metric, double value, double threshold) {
    String text(String relation) {
      return String.format(
          Locale.ROOT, "%s is %.1f %%, %s %.1f %%", metric.text(), value, relation, threshold);
    }
  }

  /**
   * A device that is being opened.
   *
   * @param thresholds by metric; others are not looked at
   * @param shortestPeriod that OVERLIMIT lasts at least
   * @param listener told of every transition, on the caller's thread
   */
  public SysMonitor(
      Map<SharingMetric, Thresholds> thresholds,
      Duration shortestPeriod,
      Consumer<Transition> listener) {
    this.thresholds = new EnumMap<>(SharingMetric.class);
    thresholds.forEach(
        (metric, limits) -> {
          if (!limits.isOff()) {
            this.thresholds.put(metric, limits);
          }
        });
    this.shortestPeriod = shortestPeriod;
    this.listener = listener;
  }

  public SharingState state() {
    return state;
  }

  /** Entries into OVERLIMIT within the last two hours. */
  public int entries(long nowNanos) {
    forgetOld(nowNanos);
    return entries.size();
  }

  /** How long OVERLIMIT lasts at least, if the device entered it last. */
  Duration period(long nowNanos) {
    int doublings = Math.clamp(entries(nowNanos) - 1, 0, MOST_DOUBLINGS);
    return shortestPeriod.multipliedBy(1L << doublings);
  }

  /** The device cannot be used. */
  public void disabled(String reason) {
    if (state != SharingState.DISABLED) {
      enter(SharingState.DISABLED, null, reason);
    }
  }

  /**
   * The device can be used and has been looked at.
   *
   * @param readings in percent, of those that are measured
   * @return the state from now on
   */
  public SharingState observe(Map<SharingMetric, Double> readings, long nowNanos) {
    if (state == SharingState.DISABLED) {
      enter(SharingState.INIT, null, "the device is back");
      return state;
    }
    if (state == SharingState.INIT) {
      enter(SharingState.HEALTHY, null, "the device is open");
    }
    @Nullable Finding overlimit = first(readings, Thresholds::overlimit);
    switch (state) {
      case HEALTHY -> leaveHealthy(overlimit, readings, nowNanos);
      case UNHEALTHY -> leaveUnhealthy(overlimit, readings, nowNanos);
      case OVERLIMIT -> leaveOverlimit(overlimit, nowNanos);
      case INIT, DISABLED -> throw new IllegalStateException("left above: " + state);
    }
    return state;
  }

  /** Whether memory is over its limit, perhaps among others. */
  public boolean lacksMemory(Map<SharingMetric, Double> readings) {
    return first(readings, SharingMetric::isMemory, Thresholds::overlimit) != null;
  }

  private void leaveHealthy(
      @Nullable Finding overlimit, Map<SharingMetric, Double> readings, long nowNanos) {
    @Nullable Finding unhealthy = first(readings, Thresholds::unhealthy);
    if (overlimit != null) {
      overload(overlimit, nowNanos);
    } else if (unhealthy != null) {
      enter(SharingState.UNHEALTHY, unhealthy.metric, unhealthy.text("the unhealthy threshold is"));
    }
  }

  private void leaveUnhealthy(
      @Nullable Finding overlimit, Map<SharingMetric, Double> readings, long nowNanos) {
    if (overlimit != null) {
      overload(overlimit, nowNanos);
    } else if (first(readings, Thresholds::healthy) == null) {
      enter(SharingState.HEALTHY, null, "every metric is better than its healthy threshold");
    }
  }

  private void overload(Finding finding, long nowNanos) {
    forgetOld(nowNanos);
    entries.addLast(nowNanos);
    enter(
        SharingState.OVERLIMIT,
        finding.metric,
        finding.text("the overlimit threshold is")
            + "; offline work stops for %d ms at least, it is the %d. time within two hours"
                .formatted(period(nowNanos).toMillis(), entries.size()));
  }

  private void leaveOverlimit(@Nullable Finding overlimit, long nowNanos) {
    boolean periodIsOver =
        entries.isEmpty() || nowNanos - entries.getLast() >= period(nowNanos).toNanos();
    if (overlimit == null && periodIsOver) {
      enter(SharingState.UNHEALTHY, null, "every metric is better than its overlimit threshold");
    }
  }

  /** The first metric that reaches a threshold of its own. */
  private @Nullable Finding first(
      Map<SharingMetric, Double> readings, ToDoubleFunction<Thresholds> threshold) {
    return first(readings, _ -> true, threshold);
  }

  private @Nullable Finding first(
      Map<SharingMetric, Double> readings,
      Predicate<SharingMetric> which,
      ToDoubleFunction<Thresholds> threshold) {
    for (Map.Entry<SharingMetric, Thresholds> entry : thresholds.entrySet()) {
      @Nullable Double value = readings.get(entry.getKey());
      double limit = threshold.applyAsDouble(entry.getValue());
      if (value != null && which.test(entry.getKey()) && entry.getKey().reaches(value, limit)) {
        return new Finding(entry.getKey(), value, limit);
      }
    }
    return null;
  }

  private void forgetOld(long nowNanos) {
    while (!entries.isEmpty() && nowNanos - entries.getFirst() > ENTRIES_COUNT_FOR.toNanos()) {
      entries.removeFirst();
    }
  }

  private void enter(SharingState next, @Nullable SharingMetric cause, String reason) {
    Transition transition = new Transition(state, next, Optional.ofNullable(cause), reason);
    state = next;
    listener.accept(transition);
  }
}
