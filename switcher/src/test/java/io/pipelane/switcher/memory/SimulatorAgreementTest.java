package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.residency.ResidencySettings;
import io.pipelane.switcher.simulator.Copied;
import io.pipelane.switcher.simulator.CopyReason;
import io.pipelane.switcher.simulator.SimulatedModel;
import io.pipelane.switcher.simulator.Simulator;
import io.pipelane.switcher.simulator.SimulatorSettings;
import io.pipelane.switcher.simulator.TracedUse;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The processor's device behind a throttled link does what the simulator says, copy by copy. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SimulatorAgreementTest {
  private static final long PAGE = 4_096;
  private static final int PAGES = 14;
  private static final int REQUESTS = 300;
  private static final Grouping GROUPING = new EqualBytesGrouping(1_000, 1);
  private static final Duration HALF_LIFE = Duration.ofMinutes(2);
  private static final PipelineCosts COSTS =
      new PipelineCosts(LinkModel.line(1_000, 1e9), 2_000, 500);

  private final long seed = System.nanoTime();
  private final Random random = new Random(seed);
  private final List<ImportedModel> models = new ArrayList<>();
  private final List<Long> segmentNanos = new ArrayList<>();
  private final RecordingDevice device =
      RecordingDevice.of(
          CpuDevice.open(new ByteSize(PAGES * PAGE), new ByteSize(PAGE), Bandwidth.parse("1GB/s")));

  /** Weights without content, which say whose they are. */
  private record Source(int model, long byteSize) implements WeightSource {
    @Override
    public void read(long offset, MemorySegment destination) {}

    @Override
    public void close() {}
  }

  @AfterEach
  void close() {
    device.close();
  }

  @ParameterizedTest
  @EnumSource
  void copies_ofTheSameTrace_areTheSimulators(ResidencyConfig.Policy policy) {
    assertSameCopies(policy, 0);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 10, 30})
  void copies_withAStallTarget_areTheSimulators(int stallTargetMicros) {
    assertSameCopies(ResidencyConfig.Policy.EXPECTED_STALL, stallTargetMicros);
  }

  private void assertSameCopies(ResidencyConfig.Policy policy, int stallTargetMicros) {
    List<long[]> sizes = moreThanFits();
    for (int i = 0; i < sizes.size(); i++) {
      models.add(FakeModels.ofBytes("m" + i, sizes.get(i)));
      segmentNanos.add(500L + random.nextInt(8_000));
    }
    List<TracedUse> trace = new ArrayList<>();
    long nanos = 0;
    for (int i = 0; i < REQUESTS; i++) {
      nanos += Duration.ofMillis(50 + random.nextInt(2_000)).toNanos();
      trace.add(new TracedUse(nanos, (int) Math.min(5, Math.abs(random.nextGaussian() * 2.5))));
    }
    ResidencyConfig residency =
        new ResidencyConfig(policy, HALF_LIFE, stallTargetMicros, false, true);
    List<Copied> simulated = simulate(residency, trace);
    assertTrue(simulated.size() > 20, "seed " + seed);
    List<Copied> live = live(residency, trace);
    for (int i = 0; i < Math.min(simulated.size(), live.size()); i++) {
      assertEquals(simulated.get(i), live.get(i), "copy " + i + ", seed " + seed);
    }
    assertEquals(simulated.size(), live.size(), "seed " + seed);
  }

  /** The bytes of six models' segments, which together need half as much again as there is. */
  private List<long[]> moreThanFits() {
    List<long[]> drawn = new ArrayList<>();
    while (drawn.stream().flatMapToLong(Arrays::stream).sum() < PAGES * PAGE * 3 / 2) {
      drawn.clear();
      for (int i = 0; i < 6; i++) {
        long[] segments = new long[1 + random.nextInt(6)];
        Arrays.setAll(segments, segment -> 1 + random.nextInt(2 * (int) PAGE));
        drawn.add(segments);
      }
    }
    return drawn;
  }

  private List<Long> times(int model) {
    return Collections.nCopies(models.get(model).plan().segments().size(), segmentNanos.get(model));
  }

  private List<Copied> simulate(ResidencyConfig residency, List<TracedUse> trace) {
    List<SimulatedModel> simulated = new ArrayList<>();
    for (int i = 0; i < models.size(); i++) {
      ImportedModel model = models.get(i);
      simulated.add(
          new SimulatedModel(
              model.version().model(), model.plan(), COSTS.model(model.plan(), times(i)), 0, 0));
    }
    SimulatorSettings settings = new SimulatorSettings(PAGES * PAGE, PAGE, 1, GROUPING, residency);
    List<Copied> copies = new ArrayList<>();
    new Simulator(settings, simulated, copies::add).replay(trace);
    return copies;
  }

  private List<Copied> live(ResidencyConfig residency, List<TracedUse> trace) {
    SegmentProfiles profiles = SegmentProfiles.inMemory();
    for (int i = 0; i < models.size(); i++) {
      long[] run = times(i).stream().mapToLong(Long::longValue).toArray();
      profiles.observed(models.get(i).plan().structureHash(), "x", run);
    }
    AtomicLong clock = new AtomicLong();
    MemoryDaemon daemon =
        new MemoryDaemon(
            device,
            PAGES * PAGE,
            model -> new Source(models.indexOf(model), model.plan().weightBytes()),
            GROUPING,
            structure -> false,
            new ResidencySettings(residency, profiles, Optional.of(COSTS)),
            clock::get);
    models.forEach(daemon::register);
    for (TracedUse use : trace) {
      clock.set(use.nanos());
      try (Lease lease = daemon.acquire(models.get(use.model()).version())) {
        lease.awaitAll();
      }
    }
    daemon.ledger().verify();
    daemon.close();
    return device.given().stream()
        .map(
            copy -> {
              int model = ((Source) copy.source()).model();
              return new Copied(model, copy.offset(), copy.end(), CopyReason.DEMAND);
            })
        .toList();
  }
}
