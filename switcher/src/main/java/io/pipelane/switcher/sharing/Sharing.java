package io.pipelane.switcher.sharing;

import io.pipelane.config.StatusException;
import io.pipelane.config.section.SharingConfig;
import io.pipelane.config.section.SharingConfig.Protection;
import io.pipelane.config.value.Thresholds;
import io.pipelane.lanes.monitor.DeviceMonitor;
import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.switcher.sharing.gate.LaunchThrottle;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import io.pipelane.switcher.sharing.gate.OnlineWork;
import io.pipelane.switcher.sharing.monitor.DeviceLoad;
import io.pipelane.switcher.sharing.monitor.DeviceLook;
import io.pipelane.switcher.sharing.monitor.ErrorWatch;
import io.pipelane.switcher.sharing.monitor.SampleRing;
import io.pipelane.switcher.sharing.monitor.SharingMetric;
import io.pipelane.switcher.sharing.monitor.SharingState;
import io.pipelane.switcher.sharing.monitor.SysMonitor;
import io.pipelane.switcher.sharing.trial.ShareTrial;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The sharing of a device by online and offline work: looks at the device, steers the throttle and
 * the state, and keeps the gate. {@link #look} belongs to one thread, everything else is for any.
 */
public final class Sharing implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Sharing.class.getName());
  private static final double PERCENT = 100;

  /** k_L and k_H of MuxFlow's equation 2: a clock that has fallen weighs much more. */
  private static final double LOW_CLOCK = 4;

  private static final double HIGH_CLOCK = 0.1;

  private final DeviceMonitor monitor;
  private final Duration period;
  private final MemoryBeside memory;
  private final OfflineGate gate;
  private final SysMonitor states;
  private final LaunchThrottle throttle;
  private final DeviceLoad load;
  private final SampleRing samples = new SampleRing();
  private final Attainment attainment = new Attainment();
  private final ErrorWatch errors = new ErrorWatch();
  private final EvictionWatch evictions;
  private final LongSupplier nanoClock;
  private final ObjectiveCounts objectives = new ObjectiveCounts();
  private volatile Predicate<String> reset = reason -> false;
  private volatile DeviceLook latest;
  private String reason = "";
  private String estimate = ""; // What is said of figures that are not measured now.
  private long lookedNanos;

  /**
   * Sharing of a device that has not been looked at.
   *
   * @param pagesBytes what the server has taken of the device for weights, used or not
   * @param lanes runs that compute at once
   * @param leastShare of its own speed, what offline work keeps while online work is in flight
   * @param multiprocessors how many it may have to itself, in percent, ascending; none where there
   *     is no lane for that
   */
  public Sharing(
      SharingSettings settings,
      long pagesBytes,
      int lanes,
      double leastShare,
      List<Integer> multiprocessors,
      LongSupplier nanoClock) {
    SharingConfig config = settings.config();
    this.monitor = settings.monitor();
    this.period = config.period();
    this.memory = MemoryBeside.of(monitor.memoryBytes(), pagesBytes);
    this.nanoClock = nanoClock;
    this.gate =
        new OfflineGate(
            config.protection() == Protection.GATES,
            leastShare,
            lanes,
            new OnlineWork(),
            ShareTrial.of(
                config.multiprocessors(), multiprocessors, config.multiprocessorsPercent(), lanes),
            nanoClock);
    this.states = new SysMonitor(thresholds(config), config.overlimitPeriod(), this::entered);
    this.evictions = new EvictionWatch(gate.runs(), nanoClock);
    this.throttle = new LaunchThrottle(config.targetLoadPercent() / PERCENT);
    this.load = new DeviceLoad(config.clockThresholdPercent() / PERCENT, LOW_CLOCK, HIGH_CLOCK);
    this.lookedNanos = nanoClock.getAsLong();
    this.latest = seen(DeviceSample.UNKNOWN, 0, lookedNanos);
  }

  private static Map<SharingMetric, Thresholds> thresholds(SharingConfig config) {
    Map<SharingMetric, Thresholds> thresholds = new EnumMap<>(SharingMetric.class);
    for (SharingMetric metric : SharingMetric.values()) {
      thresholds.put(
          metric,
          switch (metric) {
            case UTILIZATION -> config.utilization();
            case ACTIVITY -> config.activity();
            case CLOCK -> config.clock();
            case MEMORY -> config.memory();
            case MEMORY_PRESSURE -> config.memoryPressure();
            case HOST_MEMORY -> config.hostMemory();
            case ATTAINMENT -> config.attainment();
          });
    }
    return thresholds;
  }

  private void entered(SysMonitor.Transition transition) {
    reason = transition.reason();
    try {
      if (transition.to() == SharingState.OVERLIMIT) {
        evictions.ordered();
      } else {
        evictions.over();
      }
    } finally { // It is told of each transition once.
      gate.setState(transition.to()); // Before it is said: to write that takes longer than to stop.
    }
    boolean worse = transition.to().compareTo(SharingState.HEALTHY) > 0;
    Level better = transition.from() == SharingState.INIT ? Level.DEBUG : Level.INFO;
    LOG.log(
        worse ? Level.WARNING : better,
        "the device is {0}{1}, it was {2} before: {3}",
        transition.to(),
        transition.cause().map(metric -> " for its " + metric.text()).orElse(""),
        transition.from(),
        transition.reason());
  }

  /** What offline runs pass. */
  public OfflineGate gate() {
    return gate;
  }

  /** How often to look at the device. */
  public Duration period() {
    return period;
  }

  /** The device's last minutes. */
  public SampleRing samples() {
    return samples;
  }

  /** What attainment is judged by, told of the device's online requests. */
  public ObjectiveCounts objectives() {
    return objectives;
  }

  /**
   * Has workers be reset when the device reports an error.
   *
   * @param resetting told why; answers whether there was anything to reset
   */
  public void onError(Predicate<String> resetting) {
    reset = resetting;
  }

  /**
   * Has the memory of offline work taken back that no run holds, each time the device is overloaded
   * and its runs stand, and has those end where there is too little memory.
   */
  public void onEviction(OfflineMemory memory) {
    evictions.from(memory);
  }

  /**
   * Looks whether offline work that was told to stop stands; by the thread that looks at the
   * device.
   *
   * @return whether to look again at once
   */
  boolean watchEviction() {
    evictions.watch();
    return evictions.isClose();
  }

  /** Looks at the device once, and steers by what it sees. */
  public void look() {
    long now = nanoClock.getAsLong();
    gate.lookAtTrial(now); // First: it may hold offline work, which nothing else ends.
    errors.reported(monitor.errors(), now, reset);
    @Nullable DeviceSample sample = sample();
    latest = sample == null ? seen(DeviceSample.UNKNOWN, 0, now) : steer(sample, now);
    evictions.look();
  }

  /** Null where the device cannot be used. */
  private @Nullable DeviceSample sample() {
    try {
      return monitor.sample();
    } catch (StatusException e) {
      states.disabled(String.valueOf(e.getMessage()));
      return null;
    }
  }

  private DeviceLook steer(DeviceSample measured, long now) {
    double seconds = (now - lookedNanos) / 1e9;
    lookedNanos = now;
    DeviceSample sample = estimated(measured, gate.runTime().activity(seconds));
    samples.add(now, sample);
    double loaded = loaded(sample.work());
    if (sample.work().activity().isPresent()) {
      throttle.update(loaded, seconds);
    }
    gate.setShare(Math.min(throttle.share(), gate.cost().slowdowns().steer(now)));
    Map<SharingMetric, Double> readings = readings(sample, now);
    if (states.observe(readings, now) == SharingState.OVERLIMIT) {
      if (!gate.heedsState()) {
        evictions.holdsNobody();
      } else if (states.lacksMemory(readings)) {
        evictions.lacksMemory();
      }
    }
    return seen(sample, loaded, now);
  }

  /** With what runs did where their activity is not measured, but somebody looks at the device. */
  private DeviceSample estimated(DeviceSample sample, double ran) {
    if (sample.work().utilization().isEmpty()) {
      return sample;
    }
    estimate = sample.work().activity().isPresent() ? "" : ", SM activity estimated from runs";
    return sample.withActivity(ran);
  }

  /** 0 while nobody measures it. */
  private double loaded(DeviceSample.Work work) {
    double clock = work.isBusy() ? work.clock().orElse(load.threshold()) : load.threshold();
    return work.activity().isPresent() ? load.of(work.activity().getAsDouble(), clock) : 0;
  }

  private Map<SharingMetric, Double> readings(DeviceSample sample, long now) {
    Map<SharingMetric, Double> readings = new EnumMap<>(SharingMetric.class);
    put(readings, SharingMetric.UTILIZATION, sample.work().utilization());
    put(readings, SharingMetric.ACTIVITY, sample.work().activity());
    if (sample.work().isBusy()) { // An idle device saves power.
      put(readings, SharingMetric.CLOCK, sample.work().clock());
    }
    put(readings, SharingMetric.MEMORY, memory.used(sample.memory().taken()));
    put(readings, SharingMetric.MEMORY_PRESSURE, sample.memory().hostPressure());
    put(readings, SharingMetric.HOST_MEMORY, sample.memory().hostTaken());
    put(readings, SharingMetric.ATTAINMENT, attainment.update(objectives.soFar(), now));
    return readings;
  }

  private static void put(
      Map<SharingMetric, Double> readings, SharingMetric metric, OptionalDouble share) {
    share.ifPresent(value -> readings.put(metric, PERCENT * value));
  }

  private DeviceLook seen(DeviceSample sample, double loaded, long now) {
    return new DeviceLook(
        states.state(),
        reason,
        states.entries(now),
        Math.min(throttle.share(), gate.cost().slowdowns().share()),
        loaded,
        monitor.source() + estimate,
        sample,
        gate.cost().slowdowns().ratios());
  }

  /** As it was looked at last, with counts of now. */
  public SharingOverview overview() {
    return new SharingOverview(
        latest,
        objectives.soFar(),
        gate.online().counts(nanoClock.getAsLong()),
        gate.runs().counts(),
        gate.trial().overview(),
        evictions.evictions());
  }

  /** Looks no more. */
  @Override
  public void close() {
    monitor.close();
  }
}
