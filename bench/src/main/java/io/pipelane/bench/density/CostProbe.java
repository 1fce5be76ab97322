package io.pipelane.bench.density;

import io.pipelane.bench.measure.Medians;
import io.pipelane.bench.report.Column;
import io.pipelane.bench.report.Results;
import io.pipelane.config.section.ResidencyConfig.Policy;
import io.pipelane.switcher.grouping.ContendedRun;
import io.pipelane.switcher.grouping.Contention;
import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.grouping.PipelineModel;
import io.pipelane.switcher.grouping.PipelineModel.Prediction;
import io.pipelane.switcher.grouping.PipelineModel.Ready;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.residency.RemapSteps;
import io.pipelane.switcher.simulator.Friction;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A probe that has runs tell what copies beside them, any transfer and remapping cost on a device.
 * It holds the model of the pipeline with these costs against runs that they were not measured by.
 */
final class CostProbe {
  private static final int WARMUP = 5;
  private static final int SAMPLES = 30;
  private static final int PAGES = 4;
  private static final double MOST_LOST = 0.9;

  private static final Column MEASURED = new Column("measured_ms", "measured ms", 3);
  private static final Column BESIDE = new Column("beside_ms", "beside the other ms", 3);
  private static final Column LOST = new Column("lost_percent", "lost %", 1);
  private static final Column MODELLED = new Column("modelled_ms", "by the model ms", 3);

  private final Scene scene;
  private final Duration interval;
  private final SegmentProfiles profiles = SegmentProfiles.inMemory();
  private final Results results =
      new Results(
          "What copies and runs cost each other, measured before",
          List.of(MEASURED, BESIDE, LOST, MODELLED),
          List.of(
              "A run that finds its weights there, alone and while one page after another is copied"
                  + " for others, and such a page, alone and while a run goes on: of the time that they"
                  + " are beside each other each loses the share that is told. A page's copy has its"
                  + " mapping and the waking up of threads in it; by the model is what the link takes.",
              "Stalls are medians of runs that found nothing there, half of their pages, or all under"
                  + " another variant's addresses, with nothing else on the link. What the first takes"
                  + " beyond the model is the simulator's for any transfer, so there both are equal."));

  /**
   * Measures nothing yet.
   *
   * @param perSecond as often as requests will come
   */
  CostProbe(Scene scene, double perSecond) {
    this.scene = scene;
    interval = Scene.interval(perSecond);
  }

  /** What was measured, as a table. */
  Results results() {
    return results;
  }

  /** Measures; the device has room for two variants. */
  MeasuredCosts measure() {
    int pages = scene.wholePages();
    RemapProbe.Costs remap =
        RemapProbe.measure(scene.accelerator().device(), scene.subject().weights(), pages);
    WarmRuns warm = new WarmRuns();
    try (LiveDevice device =
        scene.device(2, Scene.residency(Policy.EXPECTED_STALL, 0, false), profiles)) {
      for (int i = 0; i < WARMUP; i++) {
        device.run(0, interval);
      }
      double cold = stall(device, 0, warm);
      double half = stall(device, pages / 2, warm);
      Friction friction = friction(device, remap.heldNanos());
      PipelineModel pipeline = scene.measured(warm, profiles);
      long transfer = Math.max(0, Math.round(cold) - stall(pipeline, friction, 0));
      long halfModelled = stall(pipeline, friction, pages / 2) + transfer;
      tell("a run's stall with nothing there", cold, stall(pipeline, friction, 0) + transfer);
      tell("a run's stall with half its pages there", half, halfModelled);
      double turns = stallInTurns(device);
      tell("a run's stall where variants take turns", turns, stall(pipeline, friction, remap));
      results.add("of that with nothing there, any transfer", MEASURED, transfer / 1e6);
      results.add("remapping a page", MEASURED, remap.pageNanos() / 1e6);
      results.add("remapping held up by a page's copy", MEASURED, remap.heldNanos() / 1e6);
      results.add("an answer behind its request", MEASURED, warm.latencyNanos() / 1e6);
      for (int i = 0; i < SAMPLES; i++) {
        warm.addBehind(device.behindItself(0, interval));
      }
      results.add("an answer behind the one before, in line", MEASURED, warm.behindNanos() / 1e6);
      return new MeasuredCosts(friction, transfer, remap.pageNanos());
    }
  }

  private void tell(String label, double measuredNanos, long modelledNanos) {
    results.add(label, MEASURED, measuredNanos / 1e6);
    results.add(label, MODELLED, modelledNanos / 1e6);
  }

  /** Runs that find the first pages alone, and in turns with them others that find all. */
  private double stall(LiveDevice device, int pagesThere, WarmRuns warm) {
    List<Double> stalls = new ArrayList<>();
    for (int i = 0; i < SAMPLES; i++) {
      device.evict(0, pagesThere * scene.pageBytes());
      stalls.add((double) device.run(0, interval).stallNanos());
      warm.add(device.run(0, interval));
    }
    return Medians.of(stalls);
  }

  private double stallInTurns(LiveDevice device) {
    List<Double> stalls = new ArrayList<>();
    device.run(1, interval);
    for (int i = 0; i < SAMPLES; i++) {
      stalls.add((double) device.run(i % 2, interval).stallNanos());
    }
    return Medians.of(stalls);
  }

  /** Runs that find all, alone and beside copies in turns. */
  private Friction friction(LiveDevice device, long heldNanos) {
    WarmRuns alone = new WarmRuns();
    WarmRuns beside = new WarmRuns();
    List<Double> pagesAlone = new ArrayList<>();
    List<Double> pagesBeside = new ArrayList<>();
    try (PageCopies copies =
        new PageCopies(scene.accelerator().device(), scene.subject().weights())) {
      for (int i = 0; i < SAMPLES; i++) {
        alone.add(device.run(0, interval));
        device.await(interval);
        copies.begin();
        long begin = System.nanoTime();
        beside.add(device.run(0, Duration.ZERO));
        long end = System.nanoTime();
        copies.end().stream()
            .filter(copy -> copy.beginNanos() >= begin && copy.endNanos() <= end)
            .forEach(copy -> pagesBeside.add((double) copy.nanos()));
        copies.some(PAGES).forEach(copy -> pagesAlone.add((double) copy.nanos()));
      }
    }
    double page = Medians.of(pagesAlone);
    long copy = scene.costs().link().copyNanos(scene.pageBytes());
    double computingLost =
        lost("a run", (double) alone.computingNanos(), (double) beside.computingNanos());
    double copyingLost =
        pagesBeside.isEmpty() ? 0 : lost("a page's copy", page, Medians.of(pagesBeside));
    results.add("a page's copy", MODELLED, copy / 1e6);
    return new Friction(
        new Contention(computingLost, copyingLost),
        scene.accelerator().device().restBehindCopies(),
        Math.max(0, Math.round(page) - copy),
        heldNanos,
        scene.accelerator().captures(), // Such a device waits by itself, and maps later.
        scene.accelerator().captures());
  }

  private double lost(String label, double alone, double beside) {
    double lost = Math.clamp(1 - alone / beside, 0, MOST_LOST);
    results.add(label, MEASURED, alone / 1e6);
    results.add(label, BESIDE, beside / 1e6);
    results.add(label, LOST, 100 * lost);
    return lost;
  }

  private long stall(PipelineModel pipeline, Friction friction, int pagesThere) {
    List<Group> missing =
        scene.grouping(profiles).groups(scene.plan(), pagesThere * scene.pageBytes());
    return stall(pipeline, friction, missing, List.of());
  }

  private long stall(PipelineModel pipeline, Friction friction, RemapProbe.Costs remap) {
    List<Ready> ready = new ArrayList<>();
    long offset = 0;
    for (int pages : RemapSteps.ends(scene.wholePages())) {
      ready.add(new Ready(offset, pages * remap.pageNanos()));
      offset = pages * scene.pageBytes();
    }
    return stall(pipeline, friction, List.of(), ready);
  }

  private static long stall(
      PipelineModel pipeline, Friction friction, List<Group> missing, List<Ready> ready) {
    Prediction prediction =
        ContendedRun.predict(pipeline, missing, ready, friction.contention(), 0).prediction();
    return friction.stallIsExcess()
        ? prediction.totalNanos() - pipeline.warmNanos()
        : prediction.stallNanos();
  }
}
