package io.pipelane.bench.switching;

import io.pipelane.bench.accelerator.Accelerator;
import io.pipelane.bench.accelerator.HeldWeights;
import io.pipelane.bench.local.LocalCaller;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Timing;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.MemorySource;
import io.pipelane.runtime.RelativeError;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.grouping.OptimalGrouping;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.PipelineModel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The measurement of one model on one accelerator, through the product's own switcher. */
final class ModelRounds {
  private static final double[] RESIDENT_SHARES = {0.125, 0.25, 0.5, 0.75};
  private static final int[] GROUP_COUNTS = {4, 8, 16, 24, 32};
  private static final int STRUCTURE_ROUNDS = 10;

  /** So many runs of a model are captured, where anything is, and have been measured. */
  private static final int RUNS_TO_PROFILE = 5;

  private static final String LINK = "link_gb_per_s";
  private static final Run NOTHING = () -> {};

  private final Accelerator accelerator;
  private final PipelineCosts costs;
  private final ImportedModel grouped;
  private final ImportedModel layered;
  private final List<Tensor> inputs;
  private final MemorySource weights;
  private final MemorySource layeredWeights;
  private final int warmup;
  private final int iterations;
  private final Measured measured;
  private Map<String, byte[]> expected = Map.of();

  /**
   * Reads the weights into memory that the accelerator copies from.
   *
   * @param costs what transfers cost on the accelerator
   * @param layered the same model, cut as finely as can be
   */
  ModelRounds(
      Accelerator accelerator,
      PipelineCosts costs,
      List<Tensor> inputs,
      ImportedModel grouped,
      ImportedModel layered,
      int warmup,
      int iterations,
      Measured measured)
      throws Exception {
    this.accelerator = accelerator;
    this.costs = costs;
    this.grouped = grouped;
    this.layered = layered;
    this.warmup = warmup;
    this.iterations = iterations;
    this.measured = measured;
    this.inputs = inputs;
    weights = HeldWeights.read(grouped, accelerator::pinned);
    layeredWeights = HeldWeights.read(layered, accelerator::pinned);
    measured.fact("weights_mb", grouped.plan().weightBytes() / 1e6);
    measured.fact("in_place_mb", grouped.plan().inPlaceBytes() / 1e6);
    measured.fact("segments", grouped.plan().segments().size());
    measured.fact("layers", layered.plan().segments().size());
  }

  /** The copy alone: its samples and the link's peak rate. */
  void measureLink() throws Exception {
    try (Link link = new Link(accelerator.device(), weights.byteSize())) {
      Contestant copy = new Contestant(Row.COPY, NOTHING, link.copy(weights));
      Contestant.measure(List.of(copy), warmup, iterations, measured);
    }
    measured.fact(LINK, weights.byteSize() / measured.of(Row.COPY).quantile(0) / 1e6);
  }

  /** Runs that are not captured. */
  void measureUncaptured() throws Exception {
    try (Stage stage = new Stage(accelerator, costs, false)) {
      stage.register(grouped, weights);
      LocalCaller caller = stage.caller(grouped, inputs);
      Contestant.measure(
          List.of(
              new Contestant(Row.GATED_WARM, NOTHING, caller),
              new Contestant(Row.GATED_COLD, cold(stage, Stage.GROUPS), caller)),
          warmup,
          iterations,
          measured);
    }
  }

  /** Everything that the product's normal form does. */
  void measureCold() throws Exception {
    try (Stage stage = new Stage(accelerator, costs, true)) {
      stage.register(grouped, weights);
      stage.register(layered, layeredWeights);
      LocalCaller caller = stage.caller(grouped, inputs);
      LocalCaller layers = stage.caller(layered, inputs);
      OptimalGrouping optimal = stage.optimal(costs);
      for (int i = 0; i < RUNS_TO_PROFILE; i++) {
        caller.run();
        layers.run();
      }
      List<Contestant> all = new ArrayList<>();
      all.add(new Contestant(Row.WARM, broughtIn(stage), caller));
      all.add(new Contestant(Row.COLD, cold(stage, Stage.GROUPS), caller));
      all.add(new Contestant(Row.COLD_OPTIMAL, cold(stage, optimal), caller));
      all.add(new Contestant(Row.COLD_WHOLE, cold(stage, Stage.WHOLE), caller));
      all.add(new Contestant(Row.COLD_LAYERS, cold(stage, Stage.LAYERS), layers));
      Run arrival = () -> stage.warmUp(grouped.version());
      all.add(new Contestant(Row.ARRIVAL, cold(stage, Stage.GROUPS), arrival));
      for (double share : RESIDENT_SHARES) {
        long kept = keptBytes(share);
        Run equal = coldBeyond(stage, kept, Stage.GROUPS);
        all.add(new Contestant(Row.resident(share), equal, caller));
        Run chosen = coldBeyond(stage, kept, optimal);
        all.add(new Contestant(Row.residentOptimal(share), chosen, caller));
      }
      for (int count : GROUP_COUNTS) {
        Grouping groups = new EqualBytesGrouping(count, 1);
        all.add(new Contestant(Row.groups(count), cold(stage, groups), caller));
      }
      Contestant.measure(all, warmup, iterations, measured);
      for (int turn = -warmup; turn < iterations; turn++) {
        Contestant.measureRunAlone(caller, Row.RUN_WARM, turn, measured);
      }
      noteLowerBound(stage);
      notePlans(stage, optimal);
      noteDifference(caller);
    }
  }

  /** The model's weights, where the accelerator copies them from. */
  MemorySource weights() {
    return weights;
  }

  /** Answers to compare with, by output. */
  void expect(Map<String, byte[]> answer) {
    expected = answer;
  }

  private void noteDifference(LocalCaller caller) {
    caller.run();
    caller
        .outputs()
        .forEach(
            (name, actual) -> {
              byte[] plain = expected.get(name);
              if (plain != null) {
                double difference =
                    RelativeError.of(TensorType.FP32, MemorySegment.ofArray(plain), actual);
                measured.fact("difference_to_plain_ppm", difference * 1e6);
              }
            });
  }

  /** The segments' own times, where the device tells them, beside the link's rate. */
  private void noteLowerBound(Stage stage) {
    Optional<double[]> times =
        stage.sessions().of(grouped.version()).flatMap(accelerator::segmentMillis);
    Optional<Double> rate = measured.fact(LINK);
    if (times.isEmpty() || rate.isEmpty()) {
      return;
    }
    long[] ends = grouped.plan().segments().stream().mapToLong(s -> s.end()).toArray();
    double bytesPerMilli = rate.get() * 1e6;
    measured.fact("segments_sum_ms", Arrays.stream(times.get()).sum());
    measured.fact(SwitchTables.LOWER_BOUND, LowerBound.millis(0, ends, times.get(), bytesPerMilli));
    long inputBytes = inputs.stream().mapToLong(i -> i.data().remaining()).sum();
    long outputBytes = expected.values().stream().mapToLong(answer -> answer.length).sum();
    measured.fact(
        SwitchTables.LOWER_BOUND_OF_REQUEST,
        LowerBound.millis(inputBytes, ends, times.get(), bytesPerMilli)
            + outputBytes / bytesPerMilli);
    for (double share : RESIDENT_SHARES) {
      long behind = inputBytes - keptBytes(share);
      measured.fact(
          SwitchTables.lowerBoundOfRequest(share),
          LowerBound.millis(behind, ends, times.get(), bytesPerMilli)
              + outputBytes / bytesPerMilli);
    }
    measured.fact("inputs_mb", inputBytes / 1e6);
    measured.fact("outputs_mb", outputBytes / 1e6);
  }

  /** What runs have told of their segments, and the cold run that follows from it. */
  private void notePlans(Stage stage, OptimalGrouping optimal) {
    stage.segmentNanos(layered).ifPresent(nanos -> measured.plan("layers", layered.plan(), nanos));
    stage
        .segmentNanos(grouped)
        .ifPresent(
            nanos -> {
              measured.plan("segments", grouped.plan(), nanos);
              PipelineModel pipeline = costs.model(grouped.plan(), nanos);
              notePrediction("equal_bytes", pipeline, Stage.GROUPS);
              notePrediction("optimal", pipeline, optimal);
            });
  }

  private void notePrediction(String name, PipelineModel pipeline, Grouping grouping) {
    List<Group> groups = grouping.groups(grouped.plan(), 0);
    measured.fact("groups_" + name, groups.size());
    measured.fact("predicted_" + name + "_ms", pipeline.predict(groups).totalNanos() / 1e6);
  }

  /** Copies done otherwise. */
  void measureOtherCopies() throws Exception {
    try (Stage stage = new Stage(accelerator, costs, true)) {
      stage.register(layered, layeredWeights);
      LocalCaller layers = stage.caller(layered, inputs);
      Run copiesThenRun =
          () -> {
            stage.warmUp(layered.version());
            layers.run();
          };
      Contestant.measure(
          List.of(new Contestant(Row.LAYER_COPIES, cold(stage, Stage.LAYERS), copiesThenRun)),
          warmup,
          iterations,
          measured);
    }
    try (Stage stage = new Stage(accelerator, costs, true)) {
      stage.register(grouped, weights);
      LocalCaller caller = stage.caller(grouped, inputs);
      stage.synchroniseEachGroup(true);
      Contestant.measure(
          List.of(new Contestant(Row.SYNCHRONISED, cold(stage, Stage.GROUPS), caller)),
          warmup,
          iterations,
          measured);
    }
    try (Stage stage = new Stage(accelerator, costs, true)) {
      MemorySource ordinary =
          HeldWeights.read(grouped, bytes -> Arena.ofAuto().allocate(bytes, 64));
      stage.register(grouped, ordinary);
      LocalCaller caller = stage.caller(grouped, inputs);
      Contestant.measure(
          List.of(new Contestant(Row.PAGEABLE, cold(stage, Stage.GROUPS), caller)),
          warmup,
          iterations,
          measured);
    }
  }

  /** A session is built, runs for the first time, and is captured. */
  void measureStructureCold() throws Exception {
    for (int i = 0; i < Math.min(STRUCTURE_ROUNDS, iterations); i++) {
      try (Stage stage = new Stage(accelerator, costs, true)) {
        long begin = System.nanoTime();
        stage.register(grouped, weights);
        LocalCaller caller = stage.caller(grouped, inputs);
        caller.run();
        measured.of(Row.STRUCTURE_COLD).add((System.nanoTime() - begin) / 1e6);
        if (accelerator.captures()) {
          caller.run();
          measured.of(Row.CAPTURE).add(Timing.millis(caller));
        }
        measured.fact("session_mb", stage.sessionBytes() / 1e6);
      }
    }
  }

  private static Run cold(Stage stage, Grouping groups) {
    return () -> stage.evictAll(groups);
  }

  /** A share of all the model's bytes in whole pages, beside those that are read in place. */
  private long keptBytes(double share) {
    long pageBytes = accelerator.device().pages().pageBytes();
    long kept = (long) (share * (weights.byteSize() + grouped.plan().inPlaceBytes()));
    return Math.min(kept / pageBytes * pageBytes, weights.byteSize());
  }

  private Run coldBeyond(Stage stage, long kept, Grouping groups) {
    Run all = broughtIn(stage);
    return () -> {
      all.run();
      stage.evict(grouped.version(), kept, groups);
    };
  }

  /** What runs find ready has just come, too: threads have slept as long, caches hold the same. */
  private Run broughtIn(Stage stage) {
    return () -> {
      stage.evict(grouped.version(), 0, Stage.GROUPS);
      stage.warmUp(grouped.version());
    };
  }
}
