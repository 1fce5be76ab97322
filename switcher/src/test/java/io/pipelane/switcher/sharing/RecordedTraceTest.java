package io.pipelane.switcher.sharing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.Thresholds;
import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.lanes.monitor.DeviceSample.Health;
import io.pipelane.lanes.monitor.DeviceSample.Memory;
import io.pipelane.lanes.monitor.DeviceSample.Work;
import io.pipelane.switcher.sharing.gate.LaunchThrottle;
import io.pipelane.switcher.sharing.monitor.DeviceLoad;
import io.pipelane.switcher.sharing.monitor.SampleRing.Timed;
import io.pipelane.switcher.sharing.monitor.SampleTrace;
import io.pipelane.switcher.sharing.monitor.SharingMetric;
import io.pipelane.switcher.sharing.monitor.SharingState;
import io.pipelane.switcher.sharing.monitor.SysMonitor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.Function;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The state machine and the throttle on a device as it was recorded. */
class RecordedTraceTest {
  private static final double TARGET = 0.7;

  private final List<Timed> trace = new ArrayList<>();
  private String recorded = "";

  @BeforeEach
  void readBusy() throws IOException {
    read("cpu-busy.csv");
    assertEquals(300, trace.size());
  }

  private void read(String name) throws IOException {
    trace.clear();
    try (InputStream file = RecordedTraceTest.class.getResourceAsStream(name)) {
      String text = new String(Objects.requireNonNull(file).readAllBytes(), StandardCharsets.UTF_8);
      recorded = text.substring(text.indexOf('\n') + 1); // Where it comes from is said first.
    }
    recorded.lines().skip(1).map(line -> line.split(",", -1)).forEach(this::add);
  }

  private void add(String... columns) {
    DeviceSample sample =
        new DeviceSample(
            new Work(share(columns[2]), share(columns[3]), share(columns[4]), count(columns[11])),
            new Memory(share(columns[5]), share(columns[6]), share(columns[7])),
            new Health(share(columns[8]), share(columns[9]), count(columns[10])));
    trace.add(new Timed(Long.parseLong(columns[1]), sample));
  }

  private static OptionalDouble share(String text) {
    return text.isEmpty() ? OptionalDouble.empty() : OptionalDouble.of(Double.parseDouble(text));
  }

  private static OptionalLong count(String text) {
    return text.isEmpty() ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(text));
  }

  @Test
  void trace_writtenAgain_isTheSame() {
    assertEquals(recorded, SampleTrace.of(Map.of("cpu", trace)));
  }

  @Test
  void traceOfAGpu_writtenAgain_isTheSame() throws IOException {
    read("h100-shared.csv");
    assertEquals(recorded, SampleTrace.of(Map.of("cuda:0", trace)));
  }

  /** The host's memory fills up while programs are built. */
  @Test
  void states_followTheHostsMemory() {
    List<SharingState> entered =
        follow(
            SharingMetric.HOST_MEMORY,
            new Thresholds(41, 42, 43),
            sample -> sample.memory().hostTaken());
    assertEquals(
        List.of(SharingState.HEALTHY, SharingState.UNHEALTHY, SharingState.OVERLIMIT),
        entered.stream().distinct().toList());
  }

  /**
   * Offline work comes, online work beside it, then so much of it that offline work stands still,
   * and in the end there is nothing.
   */
  @Test
  void states_followAGpusActivity() throws IOException {
    read("h100-shared.csv");
    List<SharingState> entered =
        follow(
            SharingMetric.ACTIVITY, new Thresholds(40, 50, 64), sample -> sample.work().activity());
    assertEquals(
        List.of(
            SharingState.HEALTHY,
            SharingState.UNHEALTHY, // Offline runs alone.
            SharingState.HEALTHY, // The first online ones stop them.
            SharingState.UNHEALTHY,
            SharingState.HEALTHY, // Online ones without a pause leave nothing.
            SharingState.UNHEALTHY,
            SharingState.OVERLIMIT,
            SharingState.UNHEALTHY, // After one second, and then after two.
            SharingState.OVERLIMIT,
            SharingState.UNHEALTHY,
            SharingState.HEALTHY),
        entered);
  }

  /**
   * The states that a metric of the trace leads to, in order, each found to be what the state
   * machine's rules say.
   */
  private List<SharingState> follow(
      SharingMetric metric, Thresholds limits, Function<DeviceSample, OptionalDouble> measured) {
    List<SysMonitor.Transition> transitions = new ArrayList<>();
    SysMonitor monitor =
        new SysMonitor(Map.of(metric, limits), Duration.ofSeconds(1), transitions::add);
    long overlimitSince = Long.MIN_VALUE;
    SharingState before = SharingState.HEALTHY;
    for (Timed timed : trace) {
      double percent = 100 * measured.apply(timed.sample()).orElseThrow();
      SharingState now = monitor.observe(Map.of(metric, percent), timed.nanos());
      if (now == SharingState.OVERLIMIT && before != now) {
        overlimitSince = timed.nanos();
        assertTrue(percent >= limits.overlimit(), "entered at " + percent);
      }
      if (before == SharingState.OVERLIMIT && now != before) {
        long period = 1_000_000_000L << (monitor.entries(timed.nanos()) - 1);
        assertTrue(timed.nanos() - overlimitSince >= period, "left too soon");
        assertEquals(SharingState.UNHEALTHY, now);
      }
      assertTrue(now == SharingState.OVERLIMIT || percent < limits.overlimit());
      assertTrue(now != SharingState.HEALTHY || percent < limits.unhealthy());
      before = now;
    }
    return transitions.stream()
        .map(SysMonitor.Transition::to)
        .filter(state -> state != SharingState.INIT)
        .toList();
  }

  /** A device without a rest: what offline work adds to it is throttled to the least, for good. */
  @Test
  void throttle_deviceThatHasNoRest_goesToTheLeastShareWithoutSwinging() {
    LaunchThrottle throttle = new LaunchThrottle(TARGET);
    DeviceLoad load = new DeviceLoad(0.8, 4, 0.1);
    double share = 1;
    long before = trace.getFirst().nanos() - 100_000_000;
    for (Timed timed : trace) {
      double active = timed.sample().work().activity().orElseThrow();
      double now =
          throttle.update(load.of(active, load.threshold()), (timed.nanos() - before) / 1e9);
      assertTrue(now <= share + 0.05, "it rose from %s to %s".formatted(share, now));
      share = now;
      before = timed.nanos();
    }
    assertEquals(LaunchThrottle.LEAST_SHARE, share, 1e-9);
  }

  /** Two bursts with rests: offline work gives way in each, and has all again in the rests. */
  @Test
  void throttle_burstsAndRests_goesToEachBoundOnceAPhase() throws IOException {
    read("cpu-bursts.csv");
    assertEquals(recorded, SampleTrace.of(Map.of("cpu", trace)));
    LaunchThrottle throttle = new LaunchThrottle(TARGET);
    DeviceLoad load = new DeviceLoad(0.8, 4, 0.1);
    List<Double> bounds = new ArrayList<>();
    long restsSince = trace.getFirst().nanos();
    long before = restsSince - 100_000_000;
    for (Timed timed : trace) {
      double active = timed.sample().work().activity().orElseThrow();
      double share =
          throttle.update(load.of(active, load.threshold()), (timed.nanos() - before) / 1e9);
      before = timed.nanos();
      restsSince = active < TARGET / 2 ? restsSince : timed.nanos();
      boolean isAtBound = share == 1 || share == LaunchThrottle.LEAST_SHARE;
      if (isAtBound && (bounds.isEmpty() || bounds.getLast() != share)) {
        bounds.add(share);
      }
      assertTrue(share == 1 || timed.nanos() - restsSince < 1_500_000_000L, "it rests for long");
    }
    double least = LaunchThrottle.LEAST_SHARE;
    assertEquals(List.of(1.0, least, 1.0, least, 1.0), bounds);
  }

  /** As long as a GPU has more to do than the target, offline work is slowed down; then no more. */
  @Test
  void throttle_gpuAboveItsTarget_slowsDownUntilItRests() throws IOException {
    read("h100-shared.csv");
    LaunchThrottle throttle = new LaunchThrottle(0.3);
    DeviceLoad load = new DeviceLoad(0.8, 4, 0.1);
    double least = 1;
    double last = 1;
    long before = trace.getFirst().nanos() - 100_000_000;
    for (Timed timed : trace) {
      DeviceSample.Work work = timed.sample().work();
      double busy = load.of(work.activity().orElseThrow(), work.clock().orElseThrow());
      double share = throttle.update(busy, (timed.nanos() - before) / 1e9);
      assertTrue(
          busy < 0.4 || share <= last + 0.05, "it rose from %s to %s".formatted(last, share));
      least = Math.min(least, share);
      last = share;
      before = timed.nanos();
    }
    assertEquals(LaunchThrottle.LEAST_SHARE, least, 1e-9);
    assertEquals(1, last, 1e-9);
  }

  @Test
  void throttle_targetThatIsAllThereIs_slowsNothingDown() {
    LaunchThrottle throttle = new LaunchThrottle(1);
    for (Timed timed : trace) {
      double share = throttle.update(timed.sample().work().activity().orElseThrow(), 0.1);
      assertEquals(1, share, 1e-9);
    }
  }
}
