package io.pipelane.bench.overhead;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.local.LocalCaller;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.local.PlainSession;
import io.pipelane.bench.measure.Medians;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.report.Results;
import io.pipelane.switcher.memory.account.Ledger;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The rounds of {@code bench overhead}: one model after another, each in a server of its own beside
 * a plain session.
 */
final class OverheadRounds {
  private static final int STRETCHES = 5;
  private static final double NANOS_PER_MILLI = 1e6;
  private static final double MEGA = 1e6;

  private final Path work;
  private final AcceleratorOptions accelerated;
  private final int rounds;
  private final Duration length;
  private final Results results;
  private final List<Double> ratios = new ArrayList<>();
  private String runtimeVersion = "";

  OverheadRounds(
      Path work, AcceleratorOptions accelerated, int rounds, Duration length, Results results) {
    this.work = work;
    this.accelerated = accelerated;
    this.rounds = rounds;
    this.length = length;
    this.results = results;
  }

  /** ONNX Runtime's version, once a model has been measured. */
  String runtimeVersion() {
    return runtimeVersion;
  }

  /**
   * Measures a model.
   *
   * @param repository holds it alone
   * @param warmup of both before anything is measured
   * @return what the server notes of the model by then, of its captures for instance
   */
  List<String> measure(AskedModel asked, Path repository, Duration warmup) throws Exception {
    try (LocalPipelane server =
        LocalPipelane.startFor(asked, repository, work, accelerated.serverSettings(work))) {
      runtimeVersion = server.runtimeVersion();
      LocalCaller caller = server.receivingCaller(asked);
      try (PlainSession plain =
          new PlainSession(
              AcceleratorOptions.library(work),
              asked.file(),
              accelerated.provider(),
              server.inputs(asked),
              bytes -> Arena.ofAuto().allocate(bytes, 64))) {
        Timing.alternating(plain, caller, 1, warmup);
        List<Double> ofRounds = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
          ofRounds.add(measureOnce(asked.name(), plain, caller));
        }
        ratios.add(Medians.of(ofRounds));
      }
      Ledger.Entry weights = server.memory().weights().entries().getFirst();
      results.add(asked.name(), OverheadColumns.WEIGHTS, weights.weightBytes() / MEGA);
      return server.notes(asked.model());
    }
  }

  private double measureOnce(String name, PlainSession plain, LocalCaller caller) throws Exception {
    Samples runs = new Samples();
    Run told =
        () -> {
          caller.run();
          runs.add(caller.timings().executeNanos() / NANOS_PER_MILLI);
        };
    List<Samples> both = Timing.alternating(plain, told, STRETCHES, length);
    double plainMillis = both.getFirst().median();
    double millis = both.getLast().median();
    results.add(name, OverheadColumns.PLAIN, plainMillis);
    results.add(name, OverheadColumns.PIPELANE, millis);
    results.add(name, OverheadColumns.RUN, runs.median());
    results.add(name, OverheadColumns.RATIO, millis / plainMillis);
    return millis / plainMillis;
  }

  /** Adds what the models' ratios are together. */
  void summarise() {
    String count = " of " + ratios.size();
    double most = ratios.stream().mapToDouble(Double::doubleValue).max().orElseThrow();
    results.add("median" + count, OverheadColumns.RATIO, Medians.of(ratios));
    results.add("most" + count, OverheadColumns.RATIO, most);
  }
}
