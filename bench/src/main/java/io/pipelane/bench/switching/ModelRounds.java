package io.pipelane.bench.switching;

import io.pipelane.bench.local.LocalCaller;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Timing;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.memory.EqualBytesGrouping;
import io.pipelane.switcher.memory.Grouping;
import java.util.ArrayList;
import java.util.List;

/** Measures one model on one accelerator, through the product's own switcher. */
final class ModelRounds {
  private static final double[] RESIDENT_SHARES = {0.125, 0.25, 0.5, 0.75};
  private static final int[] GROUP_COUNTS = {4, 8, 16, 24, 32};
  private static final int STRUCTURE_ROUNDS = 10;
  private static final Run NOTHING = () -> {};

  private final Accelerator accelerator;
  private final ImportedModel grouped;
  private final ImportedModel layered;
  private final List<Tensor> inputs;
  private final HeldWeights weights;
  private final HeldWeights layeredWeights;
  private final int warmup;
  private final int iterations;
  private final Measured measured;

  /**
   * Reads the weights into memory that the accelerator copies from.
   *
   * @param layered the same model, cut as finely as can be
   */
  ModelRounds(
      Accelerator accelerator,
      List<Tensor> inputs,
      ImportedModel grouped,
      ImportedModel layered,
      int warmup,
      int iterations,
      Measured measured)
      throws Exception {
    this.accelerator = accelerator;
    this.grouped = grouped;
    this.layered = layered;
    this.warmup = warmup;
    this.iterations = iterations;
    this.measured = measured;
    this.inputs = inputs;
    weights = HeldWeights.read(grouped, accelerator::pinned);
    layeredWeights = HeldWeights.read(layered, accelerator::pinned);
    measured.fact("weights_mb", grouped.plan().weightBytes() / 1e6);
    measured.fact("segments", grouped.plan().segments().size());
    measured.fact("layers", layered.plan().segments().size());
  }

  /** The copy alone: its samples and the link's peak rate. */
  void measureLink() throws Exception {
    try (Link link = new Link(accelerator.device(), weights.byteSize())) {
      Contestant copy = new Contestant(Row.COPY, NOTHING, link.copy(weights));
      Contestant.measure(List.of(copy), warmup, iterations, measured);
    }
    measured.fact("link_gb_per_s", weights.byteSize() / measured.of(Row.COPY).quantile(0) / 1e6);
  }

  /** Runs that are not captured. */
  void measureUncaptured() throws Exception {
    try (Stage stage = new Stage(accelerator, false)) {
      stage.register(grouped, weights);
      LocalCaller caller = stage.caller(grouped, inputs);
      Contestant.measure(
          List.of(
              new Contestant(Row.GATED_WARM, NOTHING, caller),
              new Contestant(Row.GATED_COLD, cold(stage, 0, Stage.GROUPS), caller)),
          warmup,
          iterations,
          measured);
    }
  }

  /** Everything that the product's normal form does. */
  void measureCold() throws Exception {
    try (Stage stage = new Stage(accelerator, true)) {
      stage.register(grouped, weights);
      stage.register(layered, layeredWeights);
      LocalCaller caller = stage.caller(grouped, inputs);
      LocalCaller layers = stage.caller(layered, inputs);
      List<Contestant> all = new ArrayList<>();
      all.add(new Contestant(Row.WARM, () -> stage.warmUp(grouped.version()), caller));
      all.add(new Contestant(Row.COLD, cold(stage, 0, Stage.GROUPS), caller));
      all.add(new Contestant(Row.COLD_WHOLE, cold(stage, 0, Stage.WHOLE), caller));
      all.add(new Contestant(Row.COLD_LAYERS, coldLayers(stage), layers));
      Run arrival = () -> stage.warmUp(grouped.version());
      all.add(new Contestant(Row.ARRIVAL, cold(stage, 0, Stage.GROUPS), arrival));
      for (double share : RESIDENT_SHARES) {
        long kept = (long) (share * weights.byteSize());
        all.add(new Contestant(Row.resident(share), coldBeyond(stage, kept), caller));
      }
      for (int count : GROUP_COUNTS) {
        Grouping groups = new EqualBytesGrouping(count, 1);
        all.add(new Contestant(Row.groups(count), cold(stage, 0, groups), caller));
      }
      Contestant.measure(all, warmup, iterations, measured);
      measureRunAlone(caller);
    }
  }

  private void measureRunAlone(LocalCaller caller) {
    for (int i = -warmup; i < iterations; i++) {
      caller.run();
      if (i >= 0) {
        measured.of(Row.RUN_WARM).add(caller.timings().executeNanos() / 1e6);
      }
    }
  }

  /** A session is built, runs for the first time, and is captured. */
  void measureStructureCold() throws Exception {
    for (int i = 0; i < Math.min(STRUCTURE_ROUNDS, iterations); i++) {
      try (Stage stage = new Stage(accelerator, true)) {
        long begin = System.nanoTime();
        stage.register(grouped, weights);
        LocalCaller caller = stage.caller(grouped, inputs);
        caller.run();
        measured.of(Row.STRUCTURE_COLD).add((System.nanoTime() - begin) / 1e6);
        if (accelerator.captures()) {
          measured.of(Row.CAPTURE).add(Timing.millis(caller));
        }
      }
    }
  }

  private Run cold(Stage stage, long kept, Grouping groups) {
    ModelVersion version = grouped.version();
    return () -> {
      stage.evict(layered.version(), 0, groups);
      stage.evict(version, kept, groups);
    };
  }

  private Run coldBeyond(Stage stage, long kept) {
    ModelVersion version = grouped.version();
    return () -> {
      stage.evict(version, 0, Stage.GROUPS);
      stage.warmUp(version);
      stage.evict(version, kept, Stage.GROUPS);
    };
  }

  private Run coldLayers(Stage stage) {
    return () -> {
      stage.evict(grouped.version(), 0, Stage.LAYERS);
      stage.evict(layered.version(), 0, Stage.LAYERS);
    };
  }
}
