package io.pipelane.switcher.residency;

import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.PipelineModel;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Stall curves of models, from what is known of their segments and of the link. */
public final class StallCurves {
  /*
   * A copy that is hidden from its own run still keeps the link busy, and others wait for it: those
   * that come meanwhile, half of it on the average. So a part of a transfer's time counts as well,
   * a larger one the longer it is. That orders pages that save no waiting of their own, too, and
   * takes them from several models evenly. Were all worth the same, models in turns would each find
   * gone what was used longest ago, as with LRU.
   */
  private static final double LINK_SHARE = 0.1;

  /*
   * With a target for stalls, a run that waits longer than the target counts this many targets
   * more. It is a step, not a slope, as what is to be small is the number of such runs. On the
   * envelope the pages that bring a model below its target share the step, and those behind them
   * are worth what they save. With a higher step, models that miss the target whatever they are
   * given would empty the others.
   */
  private static final int TARGETS_COUNTED_WHEN_OVER = 10;

  /** What a link does of which nothing is known; alike for all models, so it decides nothing. */
  private static final double NANOS_PER_BYTE = 0.1;

  private static final int MOST_SAMPLES = 512;

  private final Grouping grouping;
  private final long pageBytes;
  private final long targetNanos;

  /**
   * Curves for a device whose transfers are cut by a grouping.
   *
   * @param stallTargetMicros that a run should wait at most; 0 is no target
   */
  public StallCurves(Grouping grouping, long pageBytes, int stallTargetMicros) {
    this.grouping = grouping;
    this.pageBytes = pageBytes;
    this.targetNanos = TimeUnit.MICROSECONDS.toNanos(stallTargetMicros);
  }

  /**
   * The curve of a model whose segments' times are known.
   *
   * @param transferNanos what a run loses by any transfer, however short
   */
  public StallCurve of(Plan plan, PipelineModel pipeline, long transferNanos) {
    int pages = pages(plan);
    double whole = copyNanos(pipeline.link(), grouping.groups(plan, 0));
    double[] stalls = new double[pages + 1];
    double[] others = new double[pages + 1];
    int step = Math.max(1, Math.ceilDiv(pages, MOST_SAMPLES));
    for (int there = 0; there < pages; there += step) {
      List<Group> missing = grouping.groups(plan, there * pageBytes);
      stalls[there] = transferNanos + pipeline.predict(missing).stallNanos();
      others[there] = othersNanos(copyNanos(pipeline.link(), missing), whole);
    }
    fillBetween(stalls, step);
    fillBetween(others, step);
    return curve(stalls, others)
        .withLeast(there -> stalls[Math.min(pages, Math.ceilDiv(there, step) * step)]);
  }

  /** Reads what lies between every so many values off the lines between those. */
  private static void fillBetween(double[] values, int step) {
    for (int left = 0; left < values.length - 1; left += step) {
      int right = Math.min(values.length - 1, left + step);
      double slope = (values[right] - values[left]) / (right - left);
      for (int i = left + 1; i < right; i++) {
        values[i] = values[left] + (i - left) * slope;
      }
    }
  }

  /** The curve of a model of which sizes alone are known: a run waits for all that is missing. */
  public StallCurve of(Plan plan) {
    double whole = NANOS_PER_BYTE * plan.weightBytes();
    int pages = pages(plan);
    double[] copies = new double[pages + 1];
    Arrays.setAll(copies, there -> Math.max(0, whole - NANOS_PER_BYTE * there * pageBytes));
    return curve(copies, Arrays.stream(copies).map(nanos -> othersNanos(nanos, whole)).toArray());
  }

  private StallCurve curve(double[] stalls, double[] others) {
    StallCurve waits = StallCurve.of(stalls.length - 1, there -> stalls[there] + others[there]);
    return targetNanos == 0
        ? waits
        : waits.withPenalty(
            there -> stalls[there] > targetNanos ? TARGETS_COUNTED_WHEN_OVER * targetNanos : 0);
  }

  /** What a transfer costs others; nothing where there is nothing to move. */
  private static double othersNanos(double copyNanos, double wholeModelNanos) {
    double ofTheModel = copyNanos == 0 ? 0 : copyNanos / wholeModelNanos;
    return LINK_SHARE * copyNanos * (1 + ofTheModel) / 2;
  }

  private int pages(Plan plan) {
    return Math.toIntExact(Math.ceilDiv(plan.weightBytes(), pageBytes));
  }

  private static double copyNanos(LinkModel link, List<Group> groups) {
    return groups.stream().mapToDouble(group -> link.copyNanos(group.byteSize())).sum();
  }
}
