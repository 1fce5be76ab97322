package io.pipelane.bench.levers;

import io.pipelane.bench.report.Results;
import io.pipelane.bench.residency.Mix;
import io.pipelane.bench.residency.RecordedPlans;
import io.pipelane.bench.residency.Traffic;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.SwitchingConfig;
import io.pipelane.config.section.SwitchingConfig.ShareStructures;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.OptimalGroups;
import io.pipelane.switcher.simulator.Replay;
import io.pipelane.switcher.simulator.SimulatedModel;
import io.pipelane.switcher.simulator.Simulator;
import io.pipelane.switcher.simulator.SimulatorSettings;
import io.pipelane.switcher.simulator.TracedUse;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/** The same levers in the simulator, on structures that were recorded on a GPU. */
final class SimulatedLevers {
  private static final int MODELS = 60;
  private static final double SHARE = 0.2;
  private static final double PER_SECOND = 50;
  private static final Duration LENGTH = Duration.ofMinutes(3);
  private static final long PAGE_BYTES = ByteSize.ofMebibytes(16).bytes();

  private final Mix mix;
  private final Map<String, OptimalGroups> optimal;

  SimulatedLevers(RecordedPlans plans) {
    mix = Mix.of("all", plans.structures(), MODELS);
    optimal =
        plans.structures().stream()
            .collect(
                Collectors.toMap(
                    RecordedPlans.Structure::name,
                    structure -> OptimalGroups.of(structure.model().pipeline())));
  }

  /** Replays one stream of requests with each lever off, and with none. */
  void measure(List<Lever> levers, long seed, Results results) {
    List<TracedUse> trace = Traffic.ZIPF.requests(MODELS, PER_SECOND, LENGTH, seed);
    Map<Lever, Figures> figures = new EnumMap<>(Lever.class);
    for (Lever lever : levers) {
      if (lever != Lever.READING_IN_PLACE && lever.isShownBy(Workload.MIX)) {
        figures.put(lever, replay(lever.config(), trace));
      }
    }
    Figures.addRound(results, "H200", figures);
  }

  private Figures replay(PipelaneConfig config, List<TracedUse> trace) {
    SimulatorSettings settings =
        new SimulatorSettings(
            mix.memoryBytes(SHARE, PAGE_BYTES),
            PAGE_BYTES,
            1,
            grouping(config.switching().grouping()),
            config.residency());
    List<SimulatedModel> models =
        config.switching().shareStructures() == ShareStructures.NEVER
            ? mix.models().stream().map(SimulatedLevers::unshared).toList()
            : mix.models();
    Replay replay = new Simulator(settings, models, _ -> {}).replay(trace);
    Replay settled = replay.after(trace.size() / 4);
    return Figures.of(
        millis(settled.stallNanos()),
        millis(settled.latencyNanos()),
        replay.bytesMoved() / 1e6 / trace.size());
  }

  private Grouping grouping(SwitchingConfig.Grouping wanted) {
    return switch (wanted) {
      case OPTIMAL -> (plan, resident) -> structure(plan).groups(resident);
      case EQUAL -> new EqualBytesGrouping(32, 1 << 20);
      case SEGMENT -> new EqualBytesGrouping(Integer.MAX_VALUE, 1);
      case WHOLE -> new EqualBytesGrouping(1, Long.MAX_VALUE);
    };
  }

  private static SimulatedModel unshared(SimulatedModel model) {
    return new SimulatedModel(
        model.name(),
        model.plan().withStructure(model.plan().structureHash() + "." + model.name()),
        model.pipeline(),
        model.transferNanos(),
        model.remapPageNanos());
  }

  /** Variants with structures of their own have what they have in common before a dot. */
  private OptimalGroups structure(Plan plan) {
    String name = plan.structureHash();
    int end = name.indexOf('.');
    return Objects.requireNonNull(optimal.get(end < 0 ? name : name.substring(0, end)));
  }

  private static double[] millis(long[] nanos) {
    return Arrays.stream(nanos).mapToDouble(value -> value / 1e6).toArray();
  }
}
