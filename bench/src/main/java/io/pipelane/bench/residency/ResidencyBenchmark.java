package io.pipelane.bench.residency;

import io.pipelane.bench.residency.Findings.DensityRow;
import io.pipelane.bench.residency.Findings.PageSize;
import io.pipelane.bench.residency.Findings.PolicyRow;
import io.pipelane.bench.residency.Findings.PrefixRow;
import io.pipelane.bench.residency.Findings.PrefixStall;
import io.pipelane.bench.residency.Findings.Scene;
import io.pipelane.bench.residency.Findings.SweepPoint;
import io.pipelane.config.section.ResidencyConfig.Policy;
import io.pipelane.switcher.simulator.Replay;
import io.pipelane.switcher.simulator.SimulatedModel;
import io.pipelane.switcher.simulator.TracedUse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** The replay of traces under policies of residency. */
final class ResidencyBenchmark {
  private static final double[] MEMORY_SHARES = {0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1};
  private static final double[] RESIDENT_PERCENT = {0, 12.5, 25, 50, 75};
  private static final long[] PAGES = {16L << 20, 4L << 20, 2L << 20};
  private static final long H200_BYTES = 141_000_000_000L;
  private static final long LIMITED_BYTES = 8L << 30;
  private static final int STALL_TARGET_MICROS = 900;

  private final RecordedPlans plans;
  private final SimulatedDevice device;
  private final double share;
  private final double rate;
  private final Duration length;
  private final long seed;
  private final Mix all;
  private final Mix vision;

  /**
   * Prepares mixes of models.
   *
   * @param share of their bytes that memory has room for
   */
  ResidencyBenchmark(
      RecordedPlans plans,
      SimulatedDevice device,
      int models,
      double share,
      double rate,
      Duration length,
      long seed) {
    this.plans = plans;
    this.device = device;
    this.share = share;
    this.rate = rate;
    this.length = length;
    this.seed = seed;
    this.all = Mix.of("all four structures", plans.structures(), models);
    this.vision =
        Mix.of(
            "without BERT",
            plans.structures().stream().filter(s -> !s.name().startsWith("bert")).toList(),
            models);
  }

  Findings run(boolean withDensity, Consumer<String> progress) {
    List<Scene> scenes = new ArrayList<>();
    for (boolean asMeasured : new boolean[] {true, false}) {
      for (Traffic traffic : Traffic.values()) {
        for (Mix mix : List.of(all, vision)) {
          progress.accept("replaying " + traffic.label() + ", " + mix.label());
          scenes.add(scene(device, mix, traffic, asMeasured));
        }
      }
    }
    progress.accept("replaying with more and less memory, and with other pages");
    List<SweepPoint> sweep = sweep();
    List<PageSize> pageSizes = pageSizes();
    List<DensityRow> densities = new ArrayList<>();
    if (withDensity) {
      for (boolean asMeasured : new boolean[] {true, false}) {
        progress.accept("looking for the densest " + (asMeasured ? "device" : "pipeline"));
        for (int target : new int[] {0, STALL_TARGET_MICROS}) {
          densities.add(density("one H200, 141 GB", H200_BYTES, asMeasured, target));
          densities.add(density("8 GiB of it", LIMITED_BYTES, asMeasured, target));
        }
      }
    }
    return new Findings(scenes, sweep, pageSizes, prefixes(), densities);
  }

  private Scene scene(SimulatedDevice on, Mix mix, Traffic traffic, boolean asMeasured) {
    Mix models = asMeasured ? mix : mix.pipelineAlone();
    int count = models.models().size();
    List<TracedUse> requests = traffic.requests(count, rate, length, seed);
    long memory = mix.memoryBytes(share, on.pageBytes());
    List<PolicyRow> rows = new ArrayList<>();
    for (Policy policy : Policy.values()) {
      Outcome outcome = on.replay(models, requests, memory, policy, true);
      rows.add(new PolicyRow(policy.toString(), policy, outcome));
    }
    Policy ours = Policy.EXPECTED_STALL;
    Outcome onDemand = on.replay(models, requests, memory, ours, false);
    rows.add(1, new PolicyRow(ours + ", no prefetch", ours, onDemand));
    Outcome targeted =
        on.withStallTarget(STALL_TARGET_MICROS).replay(models, requests, memory, ours, true);
    rows.add(2, new PolicyRow(ours + ", stall target 0.9 ms", ours, targeted));
    return new Scene(
        mix.label(),
        traffic,
        asMeasured,
        memory / 1e9,
        on.bestExpectedStall(models, shares(requests, count), memory),
        rows);
  }

  /** As they turned out. */
  private static double[] shares(List<TracedUse> requests, int models) {
    double[] shares = new double[models];
    requests.forEach(request -> shares[request.model()] += 1.0 / requests.size());
    return shares;
  }

  private List<SweepPoint> sweep() {
    List<SweepPoint> points = new ArrayList<>();
    List<TracedUse> requests = Traffic.ZIPF.requests(all.models().size(), rate, length, seed);
    for (Policy policy : Policy.values()) {
      for (double memoryShare : MEMORY_SHARES) {
        long memory = all.memoryBytes(memoryShare, device.pageBytes());
        memory = memoryShare == 1 ? 2 * memory : memory; // Last pages are not full.
        Outcome outcome = device.replay(all.pipelineAlone(), requests, memory, policy, true);
        points.add(new SweepPoint(policy, memoryShare, outcome.meanStall()));
      }
    }
    return points;
  }

  private List<PageSize> pageSizes() {
    List<PageSize> rows = new ArrayList<>();
    for (Mix mix : List.of(all, vision)) {
      for (long pageBytes : PAGES) {
        SimulatedDevice other = device.withPages(pageBytes);
        Scene scene = scene(other, mix, Traffic.ZIPF, false);
        double ours = scene.rows().getFirst().outcome().meanStall();
        rows.add(new PageSize(mix.label(), pageBytes, ours, scene.ratio()));
      }
    }
    return rows;
  }

  private List<PrefixRow> prefixes() {
    List<PrefixRow> rows = new ArrayList<>();
    for (RecordedPlans.Structure structure : plans.structures()) {
      SimulatedModel model = structure.model();
      List<PrefixStall> stalls = new ArrayList<>();
      for (double percent : RESIDENT_PERCENT) {
        long resident = residentBytes(model, percent / 100);
        double predicted = SimulatedDevice.stallNanos(model, resident) / 1e6;
        stalls.add(new PrefixStall(percent, predicted, structure.measuredStall(percent)));
      }
      rows.add(new PrefixRow(structure.name(), stalls, shareWithoutStall(model)));
    }
    return rows;
  }

  /** In whole pages, as a device keeps them. */
  private long residentBytes(SimulatedModel model, double part) {
    long bytes = (long) (part * model.plan().weightBytes());
    return bytes / device.pageBytes() * device.pageBytes();
  }

  private static double shareWithoutStall(SimulatedModel model) {
    long bytes = model.plan().weightBytes();
    int percent = 0;
    while (SimulatedDevice.stallNanos(model, percent * bytes / 100) - model.transferNanos()
        > Replay.NO_STALL_NANOS) {
      percent++;
    }
    return percent / 100.0;
  }

  private DensityRow density(
      String label, long memoryBytes, boolean asMeasured, int stallTargetMicros) {
    return new DensityRow(
        asMeasured,
        stallTargetMicros,
        Density.search(
            label,
            device.withStallTarget(stallTargetMicros),
            plans.structures().getFirst(),
            !asMeasured,
            memoryBytes,
            seed));
  }
}
