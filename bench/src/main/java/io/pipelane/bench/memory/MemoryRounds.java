package io.pipelane.bench.memory;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.measure.Medians;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.plot.LinePlot;
import io.pipelane.bench.report.Results;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The rounds of {@code bench memory}: one model after another, each in a server of its own. */
final class MemoryRounds {
  private static final int COPIES = 9;
  private static final double[] QUANTILES = {0.1, 0.25, 0.5, 0.75, 0.9, 1};
  private static final double MEGA = 1e6;

  private final int rounds;
  private final Duration length;
  private final Results results;
  private final Samples ratios = new Samples();
  private final AllocationSums allocations;

  MemoryRounds(int rounds, Duration length, Results results) {
    this.rounds = rounds;
    this.length = length;
    this.results = results;
    this.allocations = new AllocationSums(results);
  }

  /** Measures the only model of a server. */
  void measure(LocalPipelane server, AskedModel asked) throws Exception {
    Run run = server.caller(asked, Priority.ONLINE);
    run.run();
    List<Double> ofRounds = new ArrayList<>();
    for (int round = 0; round < rounds; round++) {
      server.evict(asked.model());
      double inference = watched(server, run, asked.name());
      double copy = copyMillis(server, asked);
      results.add(asked.name(), MemoryColumns.COPY, copy);
      results.add(asked.name(), MemoryColumns.INFERENCE, inference);
      results.add(asked.name(), MemoryColumns.RATIO, copy / inference);
      ofRounds.add(copy / inference);
    }
    ratios.add(Medians.of(ofRounds));
    allocations.measure(server, run, asked.name());
  }

  /** Runs for a while under watch; the median latency. */
  private double watched(LocalPipelane server, Run run, String name) throws Exception {
    double millis;
    MemoryWatch watch = new MemoryWatch(server);
    try (watch) {
      millis = Timing.medianMillis(run, length);
    }
    for (Kind kind : Kind.values()) {
      double[] bytes =
          watch.moments().stream().mapToDouble(moment -> kind.bytes(moment.memory())).toArray();
      Samples seen = new Samples();
      for (double value : bytes) {
        seen.add(value / MEGA);
      }
      results.add(name, kind.average(), seen.mean());
      results.add(name, kind.peak(), seen.quantile(1));
    }
    return millis;
  }

  private static double copyMillis(LocalPipelane server, AskedModel asked) throws Exception {
    Samples copies = new Samples();
    for (int i = 0; i < COPIES; i++) {
      server.evict(asked.model());
      copies.add(Timing.millis(() -> server.warmUp(asked.model())));
    }
    return copies.median();
  }

  /** Adds sizes of allocations, and how copies compare with inferences, over all models. */
  void summarise() {
    allocations.summarise();
    for (double quantile : QUANTILES) {
      results.add(
          "quantile " + quantile + " of " + ratios.count(),
          MemoryColumns.RATIO,
          ratios.quantile(quantile));
    }
  }

  /** The distribution of what copies take beside inferences. */
  LinePlot distribution() {
    LinePlot plot = new LinePlot("Share of models whose copy/inference is not above x");
    double[] sorted = ratios.values().stream().mapToDouble(Double::doubleValue).sorted().toArray();
    plot.addDistribution("copy/inference", sorted);
    return plot;
  }
}
