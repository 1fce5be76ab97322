package io.pipelane.bench.residency;

import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.residency.PrefixPlanner;
import io.pipelane.switcher.residency.PrefixPlanner.Demand;
import io.pipelane.switcher.residency.StallCurve;
import io.pipelane.switcher.simulator.SimulatedModel;
import io.pipelane.switcher.simulator.Simulator;
import io.pipelane.switcher.simulator.SimulatorSettings;
import io.pipelane.switcher.simulator.TracedUse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A device to replay traces on, but for its memory.
 *
 * @param halfLife of requests, for rates
 * @param stallTargetMicros that a run should wait at most; 0 is no target
 */
record SimulatedDevice(long pageBytes, int lanes, Duration halfLife, int stallTargetMicros) {
  /** As a server cuts transfers to a GPU. */
  static final Grouping GROUPS = new EqualBytesGrouping(32, 1 << 20);

  SimulatedDevice withPages(long otherBytes) {
    return new SimulatedDevice(otherBytes, lanes, halfLife, stallTargetMicros);
  }

  SimulatedDevice withStallTarget(int micros) {
    return new SimulatedDevice(pageBytes, lanes, halfLife, micros);
  }

  /** Replays a trace under a policy. */
  Outcome replay(
      Mix mix,
      List<TracedUse> requests,
      long memoryBytes,
      ResidencyConfig.Policy policy,
      boolean prefetch) {
    ResidencyConfig residency =
        new ResidencyConfig(policy, halfLife, stallTargetMicros, prefetch, true);
    SimulatorSettings settings =
        new SimulatorSettings(memoryBytes, pageBytes, lanes, GROUPS, residency);
    return Outcome.of(new Simulator(settings, mix.models(), copied -> {}).replay(requests));
  }

  /**
   * The expected stall, in milliseconds, of prefixes chosen with the models' true shares and never
   * touched: no policy's is much less.
   */
  double bestExpectedStall(Mix mix, double[] shares, long memoryBytes) {
    List<Demand> demands = new ArrayList<>();
    int largest = 0;
    for (int i = 0; i < shares.length; i++) {
      StallCurve curve = stalls(mix.models().get(i));
      largest = Math.max(largest, curve.pages());
      demands.add(new Demand(shares[i], curve));
    }
    int[] prefixes = PrefixPlanner.prefixes(demands, memoryBytes / pageBytes - largest);
    double nanos = 0;
    for (int i = 0; i < shares.length; i++) {
      nanos += shares[i] * demands.get(i).curve().nanos(prefixes[i]);
    }
    return nanos / 1e6;
  }

  private StallCurve stalls(SimulatedModel model) {
    int pages = Math.toIntExact(Math.ceilDiv(model.plan().weightBytes(), pageBytes));
    return StallCurve.of(pages, there -> there == pages ? 0 : stallNanos(model, there * pageBytes));
  }

  /** What a run of a model waits for with its first bytes there and the link idle. */
  static double stallNanos(SimulatedModel model, long residentBytes) {
    return model.transferNanos()
        + model.pipeline().predict(GROUPS.groups(model.plan(), residentBytes)).stallNanos();
  }
}
