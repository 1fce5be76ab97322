package io.pipelane.bench.density;

import io.pipelane.bench.accelerator.Accelerator;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.residency.Outcome;
import io.pipelane.bench.residency.Traffic;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.ResidencyConfig;
import io.pipelane.config.ResidencyConfig.Policy;
import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.OptimalGrouping;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.PipelineModel;
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

  private static final int CALIBRATED_VARIANTS = 4;

  private final Accelerator accelerator;
  private final Subject subject;
  private final Results results;
  private final Consumer<String> progress;
  private final PipelineCosts costs;
  private final SegmentProfiles profiles = SegmentProfiles.inMemory();
  private final Grouping grouping;
  private final long pageBytes;
  private final long capacityBytes;
  private long transferNanos;
  private long remapPageNanos;

  /** Measures the link; nothing else may use the device. */
  DensityRounds(
      Accelerator accelerator, Subject subject, Results results, Consumer<String> progress) {
    this.accelerator = accelerator;
    this.subject = subject;
    this.results = results;
    this.progress = progress;
    costs = accelerator.costs();
    grouping = new OptimalGrouping(profiles, costs, BY_BYTES);
    pageBytes = accelerator.device().pages().pageBytes();
    capacityBytes = accelerator.device().pages().total() * pageBytes;
  }

  /** Has runs tell how long segments compute, and what any transfer and remapping cost. */
  void calibrate() {
    ResidencyConfig onDemand = residency(Policy.EXPECTED_STALL, 0, false);
    remapPageNanos =
        RemapProbe.pageNanos(accelerator.device(), Math.toIntExact(wholeBytes() / pageBytes));
    try (LiveDevice device = device(CALIBRATED_VARIANTS, onDemand)) {
      long warm = device.warmNanos();
      LiveDevice.ColdRun cold = device.coldRun();
      long stall = pipeline().predict(grouping.groups(plan(), 0)).stallNanos();
      transferNanos = Math.max(0, cold.stallNanos() - stall);
      progress.accept(
          String.format(
              Locale.ROOT,
              "warm %.3f ms, after another variant %.3f ms; cold %.3f ms of stall (%.3f by the model of"
                  + " the pipeline, any transfer %.3f) and %.3f besides; remapping %.1f us a page",
              warm / 1e6,
              device.remappedNanos() / 1e6,
              cold.stallNanos() / 1e6,
              stall / 1e6,
              transferNanos / 1e6,
              cold.otherNanos() / 1e6,
              remapPageNanos / 1e3));
    }
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
    long warmNanos;
    try (LiveDevice device = device(1, residency)) { // Its uses are none of the trace's.
      warmNanos = device.warmNanos();
    }
    Outcome live;
    try (LiveDevice device = device(variants, residency)) {
      live = Outcome.of(device.replay(trace));
    }
    double whole = (double) capacityBytes / wholeBytes();
    Outcome simulated = simulate(variants, residency, trace, warmNanos);
    DensityColumns.add(results, label, variants / Math.floor(whole), live, simulated);
  }

  private Outcome simulate(
      int variants, ResidencyConfig residency, List<TracedUse> trace, long warmNanos) {
    SimulatedModel model =
        new SimulatedModel("", plan(), pipeline(warmNanos), transferNanos, remapPageNanos);
    List<SimulatedModel> models =
        IntStream.range(0, variants).mapToObj(i -> model.named("variant " + i)).toList();
    SimulatorSettings settings =
        new SimulatorSettings(capacityBytes, pageBytes, 1, grouping, residency);
    return Outcome.of(new Simulator(settings, models, _ -> {}).replay(trace));
  }

  private LiveDevice device(int variants, ResidencyConfig residency) {
    return new LiveDevice(accelerator, subject, variants, grouping, profiles, costs, residency);
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

  private PipelineModel pipeline() {
    return costs.model(plan(), segmentNanos());
  }

  /**
   * What a run takes beside its segments comes with the last of them, as no weight waits for it.
   */
  private PipelineModel pipeline(long warmNanos) {
    List<Long> nanos = new ArrayList<>(segmentNanos());
    long besides = Math.max(0, warmNanos - pipeline().warmNanos());
    nanos.addLast(nanos.removeLast() + besides);
    return costs.model(plan(), nanos);
  }

  private List<Long> segmentNanos() {
    return profiles
        .of(plan().structureHash())
        .flatMap(SegmentProfile::usual)
        .map(ShapeTimes::segmentNanos)
        .orElseThrow(() -> new IllegalStateException("no run has told of its segments"));
  }
}
