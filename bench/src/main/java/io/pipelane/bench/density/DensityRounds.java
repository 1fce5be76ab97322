package io.pipelane.bench.density;

import io.pipelane.bench.accelerator.Accelerator;
import io.pipelane.bench.measure.Medians;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.residency.Outcome;
import io.pipelane.bench.residency.Traffic;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.ResidencyConfig;
import io.pipelane.config.ResidencyConfig.Policy;
import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.grouping.OptimalGrouping;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.PipelineModel;
import io.pipelane.switcher.grouping.PipelineModel.Slowdown;
import io.pipelane.switcher.grouping.SegmentProfile;
import io.pipelane.switcher.grouping.SegmentProfile.ShapeTimes;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.simulator.SimulatedModel;
import io.pipelane.switcher.simulator.Simulator;
import io.pipelane.switcher.simulator.SimulatorSettings;
import io.pipelane.switcher.simulator.TracedUse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** Asks variants under policies, live and simulated. */
final class DensityRounds {
  /** As a server cuts transfers while it has no profile. */
  private static final Grouping BY_BYTES = new EqualBytesGrouping(32, 1 << 20);

  private final Accelerator accelerator;
  private final Subject subject;
  private final Results results;
  private final Consumer<String> progress;
  private final PipelineCosts costs;
  private final long pageBytes;
  private final long capacityBytes;
  private double copySlowdown;
  private long transferNanos;
  private long remapPageNanos;

  /**
   * Measures nothing yet.
   *
   * @param costs of transfers, over all links that carry them
   */
  DensityRounds(
      Accelerator accelerator,
      PipelineCosts costs,
      Subject subject,
      Results results,
      Consumer<String> progress) {
    this.accelerator = accelerator;
    this.subject = subject;
    this.results = results;
    this.progress = progress;
    this.costs = costs;
    pageBytes = accelerator.device().pages().pageBytes();
    capacityBytes = accelerator.device().pages().total() * pageBytes;
  }

  /**
   * Has runs tell what copies beside them, any transfer and remapping cost.
   *
   * @param perSecond as often as later
   */
  void calibrate(double perSecond) {
    remapPageNanos =
        RemapProbe.pageNanos(accelerator.device(), Math.toIntExact(wholeBytes() / pageBytes));
    SegmentProfiles profiles = SegmentProfiles.inMemory();
    WarmRuns warm = new WarmRuns();
    WarmRuns cold = new WarmRuns();
    List<Long> stalls = new ArrayList<>();
    try (LiveDevice device = device(1, residency(Policy.EXPECTED_STALL, 0, false), profiles)) {
      device.coldRuns(cold, stalls, warm, interval(perSecond));
    }
    long stall = Math.round(Medians.of(stalls.stream().map(Long::doubleValue).toList()));
    List<Group> groups = grouping(profiles).groups(plan(), 0);
    long copies =
        groups.stream().mapToLong(group -> costs.link().copyNanos(group.byteSize())).sum();
    long beside = Math.max(1, copies - stall); // What a run did not wait for it computed beside.
    long lost = cold.computingNanos() - warm.computingNanos();
    copySlowdown =
        accelerator.device().copiesSlowRuns() ? Math.clamp((double) lost / beside, 0, 0.9) : 0;
    Slowdown slowdown = new Slowdown(copySlowdown, costs.leadNanos() + copies);
    long modelled = measured(warm, profiles).predict(groups, List.of(), slowdown).stallNanos();
    transferNanos = Math.max(0, stall - modelled);
    progress.accept(
        String.format(
            Locale.ROOT,
            "computing %.3f ms warm and %.3f cold, so %.1f %% of the time of copies is lost; cold %.3f ms of"
                + " stall (%.3f by the model of the pipeline, any transfer %.3f); an answer %.3f ms"
                + " behind its request; remapping %.1f us a page",
            warm.computingNanos() / 1e6,
            cold.computingNanos() / 1e6,
            100 * copySlowdown,
            stall / 1e6,
            modelled / 1e6,
            transferNanos / 1e6,
            warm.latencyNanos() / 1e6,
            remapPageNanos / 1e3));
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
    ResidencyConfig residency = residency(policy, stallTargetMicros, true);
    WarmRuns warm = new WarmRuns();
    SegmentProfiles profiles = SegmentProfiles.inMemory();
    runWarm(warm, variants, perSecond, profiles);
    profiles = recorded(warm, profiles);
    Outcome live;
    try (LiveDevice device = device(variants, residency, profiles)) {
      live = Outcome.of(device.replay(trace));
    }
    runWarm(warm, variants, perSecond, SegmentProfiles.inMemory());
    Outcome simulated = simulate(variants, residency, trace, warm, profiles);
    double whole = (double) capacityBytes / wholeBytes();
    DensityColumns.add(results, label, variants / Math.floor(whole), live, simulated);
  }

  /** As many variants as fit; their uses are none of a trace's. */
  private void runWarm(WarmRuns warm, int variants, double perSecond, SegmentProfiles profiles) {
    int fit = Math.clamp(capacityBytes / wholeBytes(), 1, variants);
    ResidencyConfig onDemand = residency(Policy.EXPECTED_STALL, 0, false);
    try (LiveDevice device = device(fit, onDemand, profiles)) {
      device.warmRuns(warm, interval(perSecond));
    }
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
    recorded.observed(plan().structureHash(), usual(known).shapes(), run);
    recorded.observed(plan().structureHash(), usual(known).shapes(), run); // In place of a first.
    return recorded;
  }

  private Outcome simulate(
      int variants,
      ResidencyConfig residency,
      List<TracedUse> trace,
      WarmRuns warm,
      SegmentProfiles profiles) {
    SimulatedModel model =
        new SimulatedModel(
            "",
            plan(),
            measured(warm, profiles),
            costs.model(plan(), usual(profiles).segmentNanos()),
            transferNanos,
            remapPageNanos);
    List<SimulatedModel> models =
        IntStream.range(0, variants).mapToObj(i -> model.named("variant " + i)).toList();
    SimulatorSettings settings =
        new SimulatorSettings(
            capacityBytes, pageBytes, 1, grouping(profiles), residency, copySlowdown);
    return Outcome.of(new Simulator(settings, models, _ -> {}).replay(trace));
  }

  private LiveDevice device(int variants, ResidencyConfig residency, SegmentProfiles profiles) {
    return new LiveDevice(
        accelerator, subject, variants, grouping(profiles), profiles, costs, residency);
  }

  private Grouping grouping(SegmentProfiles profiles) {
    return new OptimalGrouping(profiles, costs, BY_BYTES);
  }

  private static Duration interval(double perSecond) {
    return Duration.ofNanos(Math.round(1e9 / perSecond));
  }

  private static ResidencyConfig residency(Policy policy, int stallTargetMicros, boolean prefetch) {
    return new ResidencyConfig(
        policy,
        PipelaneConfig.defaults().residency().halfLife(),
        stallTargetMicros,
        prefetch,
        true);
  }

  private Plan plan() {
    return subject.model().plan();
  }

  private long wholeBytes() {
    return Math.ceilDiv(plan().weightBytes(), pageBytes) * pageBytes;
  }

  /**
   * The pipeline as warm runs were. What a request takes beside its run's segments comes with the
   * last of them, as no weight waits for it.
   */
  private PipelineModel measured(WarmRuns warm, SegmentProfiles profiles) {
    List<Long> told = warm.segmentNanos();
    List<Long> nanos = new ArrayList<>(told.isEmpty() ? usual(profiles).segmentNanos() : told);
    long segments = nanos.stream().mapToLong(Long::longValue).sum();
    nanos.addLast(nanos.removeLast() + Math.max(0, warm.latencyNanos() - segments));
    return costs.model(plan(), nanos);
  }

  private ShapeTimes usual(SegmentProfiles profiles) {
    return profiles
        .of(plan().structureHash())
        .flatMap(SegmentProfile::usual)
        .orElseThrow(() -> new IllegalStateException("no run has told of its segments"));
  }
}
