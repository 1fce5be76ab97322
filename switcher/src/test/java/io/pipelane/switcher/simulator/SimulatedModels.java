package io.pipelane.switcher.simulator;

import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.PipelineModel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Models of equal segments of a page each, on a link that takes a microsecond a page. */
public final class SimulatedModels {
  public static final long PAGE = 1_000;
  static final long COPY_NANOS = 1_000;

  private SimulatedModels() {}

  /** A model of so many segments, each of which computes for so long. */
  public static SimulatedModel model(String name, int segments, long nanosPerSegment) {
    List<Plan.Segment> parts = new ArrayList<>();
    for (int i = 0; i < segments; i++) {
      parts.add(new Plan.Segment(i * PAGE, PAGE, 1));
    }
    Plan plan =
        new Plan(name, List.of(), List.of(), List.of(), parts, segments * PAGE, 0, 0, List.of());
    LinkModel link = LinkModel.line(0, 1e9);
    List<Long> times = Collections.nCopies(segments, nanosPerSegment);
    return new SimulatedModel(name, plan, PipelineModel.of(plan, times, link, 0, 0), 0, 0);
  }

  static SimulatorSettings settings(int pages, ResidencyConfig.Policy policy, boolean prefetch) {
    return settings(pages, policy, 0, prefetch);
  }

  static SimulatorSettings settings(
      int pages, ResidencyConfig.Policy policy, int stallTargetMicros, boolean prefetch) {
    return new SimulatorSettings(
        pages * PAGE,
        PAGE,
        1,
        new EqualBytesGrouping(1_000, 1),
        new ResidencyConfig(policy, Duration.ofMinutes(2), stallTargetMicros, prefetch, true));
  }

  /** Requests at equal intervals for one model after another. */
  static List<TracedUse> inTurns(int models, int requests, Duration interval) {
    List<TracedUse> trace = new ArrayList<>();
    for (int i = 0; i < requests; i++) {
      trace.add(new TracedUse(i * interval.toNanos(), i % models));
    }
    return trace;
  }
}
