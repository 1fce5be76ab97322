package io.pipelane.cluster.simulator;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.SharingConfig;
import io.pipelane.switcher.sharing.gate.LaunchThrottle;
import io.pipelane.switcher.sharing.monitor.DeviceLoad;
import io.pipelane.switcher.sharing.monitor.SharingMetric;
import io.pipelane.switcher.sharing.monitor.SharingState;
import io.pipelane.switcher.sharing.monitor.SysMonitor;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A device with an online service, an offline job at times, and the server's own throttle and state
 * machine in simulated time.
 */
final class SimulatedDevice {
  private static final double PERCENT = 100;
  private static final long NANOS_PER_MINUTE = 60_000_000_000L;
  private static final double BUSY = 0.5;

  /** The throttle's looks of a minute that are computed, and how far apart it takes them to be. */
  private static final int LOOKS = 8;

  private static final double LOOK_SECONDS = 0.25;

  /** As the server has it (k_L and k_H of MuxFlow's equation 2). */
  private static final double LOW_CLOCK = 4;

  private static final double HIGH_CLOCK = 0.1;

  private final String id;
  private final int number;
  private final OnlineService service;
  private final SharingModel model;
  private final Scheme scheme;
  private final SysMonitor states;
  private final LaunchThrottle throttle;
  private final DeviceLoad load;
  private @Nullable RunningJob job;
  private double share = 1;

  SimulatedDevice(
      int number,
      OnlineService service,
      SharingModel model,
      Scheme scheme,
      Duration overlimitPeriod) {
    SharingConfig config = PipelaneConfig.defaults().sharing();
    this.id = "device-" + number;
    this.number = number;
    this.service = service;
    this.model = model;
    this.scheme = scheme;
    this.states =
        new SysMonitor(
            Map.of(
                SharingMetric.CLOCK, config.clock(), SharingMetric.ATTAINMENT, config.attainment()),
            overlimitPeriod,
            _ -> {});
    this.throttle = new LaunchThrottle(config.targetLoadPercent() / PERCENT);
    this.load = new DeviceLoad(config.clockThresholdPercent() / PERCENT, LOW_CLOCK, HIGH_CLOCK);
    states.observe(Map.of(), 0);
  }

  String id() {
    return id;
  }

  int number() {
    return number;
  }

  OnlineService service() {
    return service;
  }

  String gpuType() {
    return model.gpu().name();
  }

  /** Over that of a device which lengths of jobs are for. */
  double speed() {
    return model.gpu().speed();
  }

  /** As the state machine has it; healthy where the scheme has none. */
  SharingState state() {
    return scheme.states() ? states.state() : SharingState.HEALTHY;
  }

  @Nullable RunningJob job() {
    return job;
  }

  /** Gives it a job, or none. */
  void take(@Nullable RunningJob next) {
    job = next;
  }

  void setShare(double multiprocessors) {
    share = multiprocessors;
  }

  /** What becomes of a minute at a rate of online requests. */
  Effect effect(double rate) {
    RunningJob running = job;
    if (running == null || !running.computes()) {
      return model.alone(service, rate);
    }
    Effect effect = shared(running, rate);
    boolean isSteered = scheme.throttle() && !Double.isNaN(effect.activity());
    if (!isSteered) {
      return effect;
    }
    for (int look = 0; look < LOOKS; look++) {
      throttle.update(load.of(effect.activity(), effect.clock()), LOOK_SECONDS);
      effect = shared(running, rate);
    }
    return effect;
  }

  private Effect shared(RunningJob running, double rate) {
    double launches = scheme.throttle() ? throttle.share() : 1;
    return model.shared(scheme.way(), service, rate, running.model(), share, launches);
  }

  /**
   * Judges the device by a minute.
   *
   * @return whether offline work has to leave
   */
  boolean judge(Effect effect, double attained, int minute) {
    if (!scheme.states()) {
      return false;
    }
    Map<SharingMetric, Double> readings = new EnumMap<>(SharingMetric.class);
    readings.put(SharingMetric.ATTAINMENT, PERCENT * attained);
    if (effect.utilization() >= BUSY) {
      readings.put(SharingMetric.CLOCK, PERCENT * effect.clock());
    }
    return states.observe(readings, minute * NANOS_PER_MINUTE) == SharingState.OVERLIMIT;
  }
}
