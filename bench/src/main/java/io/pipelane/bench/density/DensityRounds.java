package io.pipelane.bench.density;

import io.pipelane.bench.report.Results;
import io.pipelane.bench.residency.Outcome;
import io.pipelane.bench.residency.Traffic;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.config.section.ResidencyConfig.Policy;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.simulator.Replay;
import io.pipelane.switcher.simulator.SimulatedModel;
import io.pipelane.switcher.simulator.Simulator;
import io.pipelane.switcher.simulator.SimulatorSettings;
import io.pipelane.switcher.simulator.TracedUse;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** The rounds of {@code bench density}: asks variants under policies, live and simulated. */
final class DensityRounds {
  private final Scene scene;
  private final MeasuredCosts measured;
  private final Results results;
  private final StallParts parts = new StallParts();
  private final Consumer<String> progress;

  /**
   * Asks nothing yet.
   *
   * @param measured of the device, for the simulator
   */
  DensityRounds(Scene scene, MeasuredCosts measured, Results results, Consumer<String> progress) {
    this.scene = scene;
    this.measured = measured;
    this.results = results;
    this.progress = progress;
  }

  /** What stalls consist of in what was asked so far. */
  StallParts parts() {
    return parts;
  }

  /** Asks so many variants for a while under one policy, its prefetch included. */
  void measure(
      int variants,
      Policy policy,
      int stallTargetMicros,
      double perSecond,
      Duration length,
      long seed) {
    String target = stallTargetMicros == 0 ? "" : ", target " + stallTargetMicros + " us";
    String label = variants + " variants, " + policy + target;
    progress.accept("measuring " + label);
    List<TracedUse> trace = Traffic.ZIPF.requests(variants, perSecond, length, seed);
    ResidencyConfig residency = Scene.residency(policy, stallTargetMicros, true);
    WarmRuns warm = new WarmRuns();
    SegmentProfiles profiles = SegmentProfiles.inMemory();
    runWarm(warm, variants, perSecond, profiles);
    profiles = recorded(warm, profiles);
    Replay live;
    try (LiveDevice device = scene.device(variants, residency, profiles)) {
      live = device.replay(trace);
    }
    runWarm(warm, variants, perSecond, SegmentProfiles.inMemory());
    Replay simulated = simulate(variants, residency, trace, warm, profiles);
    double times = (double) variants / fitting();
    DensityColumns.add(results, label, times, Outcome.of(live), Outcome.of(simulated));
    parts.add(label, live, simulated);
  }

  /** As many variants as fit; their uses are none of a trace's. */
  private void runWarm(WarmRuns warm, int variants, double perSecond, SegmentProfiles profiles) {
    int fit = Math.clamp(fitting(), 1, variants);
    ResidencyConfig onDemand = Scene.residency(Policy.EXPECTED_STALL, 0, false);
    try (LiveDevice device = scene.device(fit, onDemand, profiles)) {
      device.warmRuns(warm, Scene.interval(perSecond));
    }
  }

  private long fitting() {
    return scene.capacityBytes() / (scene.wholePages() * scene.pageBytes());
  }

  /**
   * A profile as it is found beside a plan, of what warm runs took; those that have told of no
   * segments leave what is known.
   */
  private SegmentProfiles recorded(WarmRuns warm, SegmentProfiles known) {
    List<Long> nanos = warm.segmentNanos();
    if (nanos.isEmpty()) {
      return known;
    }
    SegmentProfiles recorded = SegmentProfiles.inMemory();
    long[] run = nanos.stream().mapToLong(Long::longValue).toArray();
    recorded.observed(scene.plan().structureHash(), scene.usual(known).shapes(), run);
    recorded.observed(
        scene.plan().structureHash(), scene.usual(known).shapes(), run); // In place of a first.
    return recorded;
  }

  private Replay simulate(
      int variants,
      ResidencyConfig residency,
      List<TracedUse> trace,
      WarmRuns warm,
      SegmentProfiles profiles) {
    SimulatedModel model =
        new SimulatedModel(
            "",
            scene.plan(),
            scene.measured(warm, profiles),
            scene.costs().model(scene.plan(), scene.usual(profiles).segmentNanos()),
            measured.transferNanos(),
            measured.remapPageNanos(),
            warm.hiddenNanos(),
            warm.spread());
    List<SimulatedModel> models =
        IntStream.range(0, variants).mapToObj(i -> model.named("variant " + i)).toList();
    SimulatorSettings settings =
        new SimulatorSettings(
            scene.capacityBytes(),
            scene.pageBytes(),
            1,
            scene.grouping(profiles),
            residency,
            measured.friction());
    return new Simulator(settings, models, _ -> {}).replay(trace);
  }
}
