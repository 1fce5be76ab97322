package io.pipelane.switcher.residency;

import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.PipelineModel;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntToDoubleFunction;

/** Stall curves of models, from what is known of their segments and of the link. */
public final class StallCurves {
  /*
   * A copy that is hidden from its own run still keeps the link busy, and others wait for it: those
   * that come meanwhile, half of it on the average. So a part of a transfer's time counts as well, a
   * larger one the longer it is. That orders pages that save no waiting of their own, too, and takes
   * them from several models evenly: were all worth the same, models in turns would each find gone
   * what was used longest ago, as with LRU.
   */
  private static final double LINK_SHARE = 0.1;

  /** What a link does of which nothing is known; alike for all models, so it decides nothing. */
  private static final double NANOS_PER_BYTE = 0.1;

  private static final int MOST_SAMPLES = 512;

  private final Grouping grouping;
  private final long pageBytes;

  /** Curves for a device whose transfers are cut by a grouping. */
  public StallCurves(Grouping grouping, long pageBytes) {
    this.grouping = grouping;
    this.pageBytes = pageBytes;
  }

  /**
   * The curve of a model whose segments' times are known.
   *
   * @param transferNanos what a run loses by any transfer, however short
   */
  public StallCurve of(Plan plan, PipelineModel pipeline, long transferNanos) {
    int pages = pages(plan);
    double whole = copyNanos(pipeline.link(), grouping.groups(plan, 0));
    return StallCurve.of(
        pages,
        sampled(
            pages,
            there -> {
              if (there == pages) {
                return 0;
              }
              List<Group> missing = grouping.groups(plan, there * pageBytes);
              double copies = copyNanos(pipeline.link(), missing);
              double stall = transferNanos + pipeline.predict(missing).stallNanos();
              return stall + othersNanos(copies, whole);
            }));
  }

  /** Evaluates some of very many pages, and reads the others off the lines between those. */
  private static IntToDoubleFunction sampled(int pages, IntToDoubleFunction cost) {
    int step = Math.ceilDiv(pages, MOST_SAMPLES);
    if (step <= 1) {
      return cost;
    }
    double[] samples = new double[Math.ceilDiv(pages, step) + 1];
    Arrays.setAll(samples, i -> cost.applyAsDouble(Math.min(pages, i * step)));
    return there -> {
      if (there == pages) {
        return samples[samples.length - 1];
      }
      int sample = there / step;
      double part = (double) (there % step) / step;
      double next = samples[Math.min(samples.length - 1, sample + 1)];
      return samples[sample] + part * (next - samples[sample]);
    };
  }

  /** The curve of a model of which sizes alone are known: a run waits for all that is missing. */
  public StallCurve of(Plan plan) {
    double whole = NANOS_PER_BYTE * plan.weightBytes();
    return StallCurve.of(
        pages(plan),
        there -> {
          double copies = Math.max(0, whole - NANOS_PER_BYTE * there * pageBytes);
          return copies + othersNanos(copies, whole);
        });
  }

  /** What a transfer costs others. */
  private static double othersNanos(double copyNanos, double wholeModelNanos) {
    return LINK_SHARE * copyNanos * (1 + copyNanos / wholeModelNanos) / 2;
  }

  private int pages(Plan plan) {
    return Math.toIntExact(Math.ceilDiv(plan.weightBytes(), pageBytes));
  }

  private static double copyNanos(LinkModel link, List<Group> groups) {
    return groups.stream().mapToDouble(group -> link.copyNanos(group.byteSize())).sum();
  }
}
