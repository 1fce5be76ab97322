package io.pipelane.switcher.simulator;

import static io.pipelane.switcher.simulator.SimulatedModels.COPY_NANOS;
import static io.pipelane.switcher.simulator.SimulatedModels.PAGE;
import static io.pipelane.switcher.simulator.SimulatedModels.inTurns;
import static io.pipelane.switcher.simulator.SimulatedModels.model;
import static io.pipelane.switcher.simulator.SimulatedModels.settings;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.section.ResidencyConfig.Policy;
import io.pipelane.switcher.grouping.Contention;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SimulatorTest {
  private static Replay replay(
      SimulatorSettings settings, List<SimulatedModel> models, List<TracedUse> trace) {
    return new Simulator(settings, models, copied -> {}).replay(trace);
  }

  @Test
  void replay_oneColdRunThenWarm_stallIsThePipelines() {
    SimulatedModel model = model("a", 4, 500);
    List<TracedUse> trace = List.of(new TracedUse(0, 0), new TracedUse(1_000_000, 0));
    Replay replay = replay(settings(4, Policy.EXPECTED_STALL, false), List.of(model), trace);
    long cold = 4 * COPY_NANOS + 500;
    assertArrayEquals(new long[] {cold - 4 * 500, 0}, replay.stallNanos());
    assertArrayEquals(new long[] {cold, 4 * 500}, replay.latencyNanos());
    assertEquals(4 * PAGE, replay.bytesMoved());
    assertEquals(4 * PAGE, replay.bytes().get(CopyReason.DEMAND));
  }

  @Test
  void replay_runHasStoodInLine_whatIsHiddenBehindTheOneBeforeIsNoTimeOfIts() {
    SimulatedModel whole = model("a", 4, 500);
    SimulatedModel model =
        new SimulatedModel(
            "a", whole.plan(), whole.pipeline(), whole.pipeline(), 0, 0, 300, RunSpread.NONE);
    List<TracedUse> trace =
        List.of(new TracedUse(0, 0), new TracedUse(1_000_000, 0), new TracedUse(1_000_100, 0));
    Replay replay = replay(settings(4, Policy.EXPECTED_STALL, false), List.of(model), trace);
    assertEquals(4 * 500, replay.latencyNanos()[1], "the lane was idle");
    assertEquals(4 * 500 - 100 + 4 * 500 - 300, replay.latencyNanos()[2]);
    assertEquals(0, replay.stallNanos()[2]);
  }

  @Test
  void replay_runsSpread_eachTakesOneOfTheMeasuredTimesAndTheSameAgain() {
    SimulatedModel whole = model("a", 4, 500);
    SimulatedModel model =
        new SimulatedModel(
            "a",
            whole.plan(),
            whole.pipeline(),
            whole.pipeline(),
            0,
            0,
            0,
            new RunSpread(new long[] {950, 1_000, 1_300}));
    List<TracedUse> trace =
        IntStream.range(0, 300).mapToObj(i -> new TracedUse(i * 1_000_000L, 0)).toList();
    SimulatorSettings settings = settings(4, Policy.EXPECTED_STALL, false);
    long[] latencies = replay(settings, List.of(model), trace).after(1).latencyNanos();
    for (long beyond : new long[] {-50, 0, 300}) {
      long runs = Arrays.stream(latencies).filter(nanos -> nanos == 4 * 500 + beyond).count();
      assertTrue(runs > 60, runs + " runs of 299 with " + beyond);
    }
    assertArrayEquals(latencies, replay(settings, List.of(model), trace).after(1).latencyNanos());
  }

  @Test
  void replay_withAnObjective_refusesWhatCannotMakeIt() {
    SimulatedModel model = model("a", 4, 500);
    long cold = 4 * COPY_NANOS + 500;
    List<TracedUse> trace =
        List.of(new TracedUse(0, 0), new TracedUse(1, 0), new TracedUse(2, 0), new TracedUse(3, 0));
    SimulatorSettings settings = settings(4, Policy.EXPECTED_STALL, false);
    Replay replay = new Simulator(settings, List.of(model), _ -> {}, 2 * cold).replay(trace);
    assertArrayEquals(
        new long[] {cold, cold + 4 * 500 - 1, cold + 8 * 500 - 2, Replay.REFUSED},
        replay.latencyNanos());
  }

  @Test
  void replay_requestWaitsInTheQueue_itsModelComesInMeanwhile() {
    List<SimulatedModel> models = List.of(model("a", 2, 10_000), model("b", 4, 10));
    List<TracedUse> trace = List.of(new TracedUse(0, 0), new TracedUse(1, 1));
    List<Copied> copies = new ArrayList<>();
    Replay replay =
        new Simulator(settings(6, Policy.EXPECTED_STALL, true), models, copies::add).replay(trace);
    assertEquals(0, replay.stallNanos()[1]);
    assertEquals(4 * PAGE, replay.bytes().get(CopyReason.QUEUED));
    assertEquals(
        new Copied(1, 0, PAGE, CopyReason.QUEUED), copies.get(2), "behind the run's own copies");
  }

  @Test
  void replay_pagesComeBesideARun_itEndsLaterWhereTheySlowItDown() {
    List<SimulatedModel> models = List.of(model("a", 2, 10_000), model("b", 4, 10));
    List<TracedUse> trace = List.of(new TracedUse(0, 0), new TracedUse(1, 1));
    SimulatorSettings undisturbed = settings(6, Policy.EXPECTED_STALL, true);
    Replay alone = replay(undisturbed, models, trace);
    Contention contention = new Contention(0.25, 0);
    Replay slowed =
        replay(with(new Friction(contention, 16, 0, 0, false, false), undisturbed), models, trace);
    long copies = 2 * COPY_NANOS - COPY_NANOS + 4 * COPY_NANOS; // Its own first one it waits for.
    assertEquals(alone.latencyNanos()[0] + copies / 4, slowed.latencyNanos()[0]);
    assertEquals(alone.latencyNanos()[1] + copies / 4, slowed.latencyNanos()[1], "it has waited");
    assertArrayEquals(alone.stallNanos(), slowed.stallNanos());
    assertArrayEquals(new long[] {2 * PAGE, 0}, slowed.missedBytes());
    assertEquals(40, slowed.runNanos()[1]);
  }

  @Test
  void replay_runThatWaits_stallIsAllThatItTakesBeyondAWarmOne() {
    List<SimulatedModel> models = List.of(model("a", 2, 10_000), model("b", 4, 10));
    List<TracedUse> trace = List.of(new TracedUse(0, 0), new TracedUse(1, 1));
    Friction friction = new Friction(new Contention(0.25, 0), 0, 0, 0, true, false);
    SimulatorSettings settings = with(friction, settings(6, Policy.EXPECTED_STALL, true));
    Replay replay = replay(settings, models, trace);
    long copies = 2 * COPY_NANOS - COPY_NANOS + 4 * COPY_NANOS;
    assertArrayEquals(new long[] {COPY_NANOS + copies / 4, 0}, replay.stallNanos());
  }

  @Test
  void replay_pagesFetchedBesideARun_takeLongerThanOthers() {
    List<SimulatedModel> models = List.of(model("a", 2, 3_000), model("b", 8, 10));
    List<TracedUse> trace = List.of(new TracedUse(0, 0), new TracedUse(1, 1));
    SimulatorSettings undisturbed = settings(10, Policy.EXPECTED_STALL, true);
    assertEquals(5 * PAGE, queued(undisturbed, models, trace), "the last ends with the run");
    assertEquals(
        4 * PAGE, queued(with(ahead(0, 1_000), undisturbed), models, trace), "all but the first");
    assertEquals(2 * PAGE, queued(with(ahead(0.5, 0), undisturbed), models, trace), "its own, too");
  }

  private static Friction ahead(double copyingLost, long aheadNanos) {
    return new Friction(new Contention(0, copyingLost), 0, aheadNanos, 0, false, false);
  }

  private static long queued(
      SimulatorSettings settings, List<SimulatedModel> models, List<TracedUse> trace) {
    return replay(settings, models, trace).bytes().getOrDefault(CopyReason.QUEUED, 0L);
  }

  /** Two are there, and a page of a third is on its way when one takes the addresses over. */
  @ParameterizedTest
  @CsvSource({"0, 100", "400, 200"})
  void replay_pageHoldsTheMapping_variantIsRemappedBehindIt(long heldNanos, long stall) {
    SimulatedModel model = model("a", 1, 2_000);
    SimulatedModel a = new SimulatedModel("a", model.plan(), model.pipeline(), 0, 100);
    List<SimulatedModel> models = List.of(a, a.named("b"), a.named("c"));
    List<TracedUse> trace = new ArrayList<>(inTurns(2, 4, Duration.ofMillis(1)));
    trace.add(new TracedUse(5_000_000, 0)); // Until 5,002,100.
    trace.add(new TracedUse(5_001_000, 1));
    trace.add(new TracedUse(5_001_800, 2));
    Friction friction = new Friction(Contention.NONE, 0, 0, heldNanos, false, false);
    SimulatorSettings settings = with(friction, settings(3, Policy.EXPECTED_STALL, true));
    Replay replay = replay(settings, models, trace);
    assertEquals(PAGE, replay.bytes().get(CopyReason.QUEUED));
    assertEquals(100, replay.stallNanos()[4]);
    assertEquals(stall, replay.stallNanos()[5]);
  }

  /** It has two of four pages, the first of which lies in its place after 100 ns. */
  @Test
  void replay_deviceMapsAmongCopies_theyWaitForTheFirstPageAlone() {
    SimulatedModel model = model("a", 4, 10);
    SimulatedModel a = new SimulatedModel("a", model.plan(), model.pipeline(), 0, 100);
    List<SimulatedModel> models = List.of(a, a.named("b"));
    List<TracedUse> trace = inTurns(2, 3, Duration.ofMillis(1));
    SimulatorSettings settings = settings(6, Policy.EXPECTED_STALL, false);
    Replay behind = replay(settings, models, trace);
    Friction among = new Friction(Contention.NONE, 0, 0, 0, false, true);
    Replay between = replay(with(among, settings), models, trace);
    assertEquals(2 * PAGE, behind.missedBytes()[2]);
    assertEquals(2 * PAGE, between.missedBytes()[2]);
    assertEquals(100, behind.stallNanos()[2] - between.stallNanos()[2]);
  }

  @Test
  void replay_nothingStays_everyRunIsCold() {
    List<SimulatedModel> models = List.of(model("a", 4, 500));
    List<TracedUse> trace = inTurns(1, 5, Duration.ofMillis(1));
    Replay replay = replay(settings(8, Policy.NOTHING_STAYS, false), models, trace);
    assertEquals(5 * 4 * PAGE, replay.bytesMoved());
  }

  /** Three models on room for two, one after the other: what makes a cache useless. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 5})
  void replay_threeModelsInTurnsOnRoomForTwo_neverThrashes(int stallTargetMicros) {
    List<SimulatedModel> models = new ArrayList<>();
    for (String name : List.of("a", "b", "c")) {
      models.add(model(name, 12, 900));
    }
    int requests = 3_000;
    Duration interval = Duration.ofMillis(10);
    List<TracedUse> trace = inTurns(3, requests, interval);
    Replay lru = replay(settings(24, Policy.LRU, true), models, trace);
    SimulatorSettings settings = settings(24, Policy.EXPECTED_STALL, stallTargetMicros, true);
    Replay ours = replay(settings, models, trace);
    assertEquals(requests * 12L * PAGE, lru.bytesMoved(), "each run brings in everything");
    assertTrue(
        ours.bytesMoved() <= 0.55 * lru.bytesMoved(),
        () -> ours.bytes() + " of " + lru.bytesMoved());
    assertTrue(
        ours.meanStallNanos() <= 0.1 * lru.meanStallNanos(),
        () -> ours.meanStallNanos() + " of " + lru.meanStallNanos());
    long idle = ours.bytes().getOrDefault(CopyReason.IDLE, 0L) / PAGE;
    double seconds = requests * interval.toMillis() / 1e3;
    assertTrue(idle <= 8 * (seconds + 1), () -> idle + " moves in " + seconds + " s");
  }

  /**
   * Whole, ten fit; with three pages of nine a run waits 6 us, so thirty models could be below 7.
   */
  @Test
  void replay_withAStallTarget_fewerRunsWaitLonger() {
    List<SimulatedModel> models = new ArrayList<>();
    for (int i = 0; i < 24; i++) {
      models.add(model("m" + i, 9, 10));
    }
    Random random = new Random(1);
    List<TracedUse> trace = new ArrayList<>();
    for (int i = 0; i < 40_000; i++) {
      int model = (int) (24 * Math.pow(random.nextDouble(), 3));
      trace.add(new TracedUse(i * Duration.ofMillis(2).toNanos(), model));
    }
    Replay without = replay(settings(90, Policy.EXPECTED_STALL, 0, true), models, trace);
    Replay with = replay(settings(90, Policy.EXPECTED_STALL, 7, true), models, trace);
    assertTrue(over(without.after(10_000), 7_000) > 0.05, "many wait long without a target");
    assertTrue(over(with.after(10_000), 7_000) < 0.01, () -> "" + over(with, 7_000));
    assertTrue(with.after(10_000).meanStallNanos() > without.after(10_000).meanStallNanos());
  }

  private static SimulatorSettings with(Friction friction, SimulatorSettings settings) {
    return new SimulatorSettings(
        settings.capacityBytes(),
        settings.pageBytes(),
        settings.lanes(),
        settings.grouping(),
        settings.residency(),
        friction);
  }

  private static double over(Replay replay, long nanos) {
    long over = Arrays.stream(replay.stallNanos()).filter(stall -> stall > nanos).count();
    return (double) over / replay.stallNanos().length;
  }

  @RepeatedTest(5)
  void replay_sameTraceTwice_givesTheSame() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    List<SimulatedModel> models = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      models.add(model("m" + i, 1 + random.nextInt(6), 100 + random.nextInt(2_000)));
    }
    List<TracedUse> trace = new ArrayList<>();
    long nanos = 0;
    for (int i = 0; i < 2_000; i++) {
      nanos += random.nextInt(20_000_000);
      trace.add(new TracedUse(nanos, (int) Math.min(5, Math.abs(random.nextGaussian() * 2))));
    }
    for (Policy policy : Policy.values()) {
      SimulatorSettings settings = settings(9, policy, true);
      List<Copied> first = new ArrayList<>();
      List<Copied> second = new ArrayList<>();
      Replay one = new Simulator(settings, models, first::add).replay(trace);
      Replay two = new Simulator(settings, models, second::add).replay(trace);
      assertEquals(first, second, "seed " + seed);
      assertArrayEquals(one.stallNanos(), two.stallNanos(), "seed " + seed);
    }
  }
}
