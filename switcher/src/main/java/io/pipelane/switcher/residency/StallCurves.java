package io.pipelane.switcher.residency;

import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.PipelineModel;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** Stall curves of models, from what is known of their segments and of the link. */
public final class StallCurves {
  /*
   * A copy that is hidden from its own run still keeps the link busy, and other runs wait for it. So
   * a part of each copy's time counts as well. That part also orders pages that save no waiting:
   * those whose return would take longer are worth more.
   */
  private static final double LINK_SHARE = 0.1;

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
    return curve(
        plan,
        pipeline.link(),
        missing -> transferNanos + pipeline.predict(missing).stallNanos());
  }

  /** The curve of a model of which sizes alone are known: a run waits for all that is missing. */
  public StallCurve of(Plan plan, LinkModel link) {
    return curve(plan, link, missing -> copyNanos(link, missing));
  }

  private StallCurve curve(Plan plan, LinkModel link, ToDoubleFunction<List<Group>> stall) {
    int pages = Math.toIntExact(Math.ceilDiv(plan.weightBytes(), pageBytes));
    return StallCurve.of(
        pages,
        there -> {
          List<Group> missing =
              there == pages ? List.of() : grouping.groups(plan, there * pageBytes);
          double copies = LINK_SHARE * copyNanos(link, missing);
          return missing.isEmpty() ? 0 : stall.applyAsDouble(missing) + copies;
        });
  }

  private static double copyNanos(LinkModel link, List<Group> groups) {
    return groups.stream().mapToDouble(group -> link.copyNanos(group.byteSize())).sum();
  }
}
