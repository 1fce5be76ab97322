package io.pipelane.bench.switching;

import io.pipelane.bench.accelerator.Accelerator;
import io.pipelane.bench.accelerator.HeldWeights;
import io.pipelane.bench.local.LocalCaller;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.config.section.ResidencyConfig.Policy;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.switcher.Switcher;
import io.pipelane.switcher.SwitcherSettings;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.OptimalGrouping;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.SegmentProfile;
import io.pipelane.switcher.grouping.SegmentProfile.ShapeTimes;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.residency.ResidencySettings;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** A switcher on an accelerator, and what a benchmark does with it. */
final class Stage implements AutoCloseable {
  /** How the product cuts transfers as long as it has no profile of a structure. */
  static final Grouping GROUPS = new EqualBytesGrouping(32, 1 << 20);

  static final Grouping WHOLE = new EqualBytesGrouping(1, 1);
  static final Grouping LAYERS = new EqualBytesGrouping(Integer.MAX_VALUE, 1);

  private static final int LANES = 1;
  private static final int QUEUE = 16;
  private static final long QUEUE_BYTES = 1L << 30;

  private final Accelerator accelerator;
  private final Switcher switcher;
  private final WatchedSessions sessions;
  private final SegmentProfiles profiles = SegmentProfiles.inMemory();
  private final ChosenGrouping grouping = new ChosenGrouping(GROUPS);
  private final Map<ModelVersion, WeightSource> weights = new ConcurrentHashMap<>();

  /**
   * Holds no model yet.
   *
   * @param costs of transfers, by which runs are expected to stall as in a server
   */
  Stage(Accelerator accelerator, PipelineCosts costs, boolean captures) {
    this.accelerator = accelerator;
    DeviceMemory memory = new DeviceMemory(accelerator.device().persistent());
    sessions = new WatchedSessions(accelerator.sessions(memory, captures));
    long pages = accelerator.device().pages().total();
    SwitcherSettings settings =
        SwitcherSettings.of(
                pages * accelerator.device().pages().pageBytes(),
                accelerator.workingBytes(),
                LANES,
                QUEUE,
                QUEUE_BYTES,
                grouping)
            .withProfiles(profiles)
            .withResidency(onDemand(profiles, costs));
    switcher =
        new Switcher(
            accelerator.device(),
            memory,
            sessions,
            settings,
            HeldWeights.on(
                accelerator, model -> Objects.requireNonNull(weights.get(model.version()))));
  }

  /** Nothing comes ahead of runs. */
  private static ResidencySettings onDemand(SegmentProfiles profiles, PipelineCosts costs) {
    ResidencyConfig config = ResidencySettings.onDemand(Policy.EXPECTED_STALL).config();
    return new ResidencySettings(config, profiles, Optional.of(costs));
  }

  /** Makes a model answerable from weights in host memory. */
  void register(ImportedModel model, WeightSource source) {
    weights.put(model.version(), source);
    switcher.register(model);
  }

  /** Groups chosen by what the models' runs have told, and by what transfers cost. */
  OptimalGrouping optimal(PipelineCosts costs) {
    return new OptimalGrouping(profiles, costs, GROUPS);
  }

  /** How long a model's segments compute, once a run has told. */
  Optional<List<Long>> segmentNanos(ImportedModel model) {
    return profiles
        .of(model.plan().structureHash())
        .flatMap(SegmentProfile::usual)
        .map(ShapeTimes::segmentNanos);
  }

  LocalCaller caller(ImportedModel model, List<Tensor> inputs) {
    List<String> outputs = model.plan().outputs().stream().map(TensorSpec::name).toList();
    return new LocalCaller(switcher, model.version(), inputs, outputs, accelerator::pinned);
  }

  /** Takes everything off the device, to come again in groups. */
  void evictAll(Grouping groups) {
    grouping.choose(groups);
    weights.keySet().forEach(version -> switcher.evict(version));
    accelerator.settle();
  }

  /** Leaves a model's first bytes on the device and has the others come in groups. */
  void evict(ModelVersion version, long keptBytes, Grouping groups) {
    grouping.choose(groups);
    switcher.evict(version, keptBytes);
    accelerator.settle();
  }

  /** Maps pages and brings all weights in; nothing runs. */
  void warmUp(ModelVersion version) {
    switcher.warmUp(version);
  }

  /** Whether the processor waits for each group before it lets the device go on. */
  void synchroniseEachGroup(boolean synchronise) {
    sessions.synchroniseEachGroup(synchronise);
  }

  /** The sessions that models run in at present. */
  WatchedSessions sessions() {
    return sessions;
  }

  /** Device memory that the sessions take: their constants, and what libraries hold for them. */
  long sessionBytes() {
    return switcher.memory().constantBytes();
  }

  @Override
  public void close() {
    switcher.close();
  }
}
