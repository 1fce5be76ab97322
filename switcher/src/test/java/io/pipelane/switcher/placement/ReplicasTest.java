package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.PlacementConfig.Routing;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.Switcher;
import io.pipelane.switcher.SwitcherSettings;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.residency.ResidencySettings;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Two devices of the processor with a lane each, and a clock that is set by hand. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReplicasTest {
  private static final int WIDTH = 64;
  private static final int LAYERS = 8;
  private static final long MODEL = (long) LAYERS * WIDTH * WIDTH * Float.BYTES;
  private static final long SECOND = Duration.ofSeconds(1).toNanos();
  private static final long RUN = SECOND / 100;
  private static final Duration HALF_LIFE = Duration.ofSeconds(1);

  @TempDir private Path folder;
  private final TestMembers devices = new TestMembers();
  private final List<Member> members = devices.all;
  private final SegmentProfiles profiles = SegmentProfiles.inMemory();
  private final Map<ModelVersion, Route> routes = new LinkedHashMap<>();
  private final Map<Route, ImportedModel> imports = new HashMap<>();
  private volatile CountDownLatch mayRead = new CountDownLatch(0);
  private long now;

  private void open(int modelsEach, boolean ahead) {
    open(modelsEach, ahead, Optional.empty());
  }

  private void open(int modelsEach, boolean ahead, Optional<PipelineCosts> costs) {
    long bytes = modelsEach * MODEL;
    for (int index = 0; index < 2; index++) {
      ResidencySettings residency =
          ahead
              ? new ResidencySettings(PipelaneConfig.defaults().residency(), profiles, costs)
              : ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL);
      SwitcherSettings settings =
          SwitcherSettings.of(bytes, 64 << 20, 1, 1000, 64 << 20, new EqualBytesGrouping(8, 1))
              .withProfiles(profiles)
              .withResidency(residency);
      devices.open(settings, this::weights);
    }
  }

  @AfterEach
  void everythingIsGivenBack() {
    devices.close();
  }

  /** Zeros, which are there as soon as they may be. */
  private WeightSource weights(ImportedModel model) {
    return new ZeroWeights(model, this::awaitPermission);
  }

  private void awaitPermission() {
    try {
      mayRead.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private Route model(int home) throws IOException {
    int number = routes.size();
    ImportedModel model =
        TestImports.of(TestModels.chain(LAYERS, WIDTH, number), "m" + number, folder);
    profiles.observed(model.plan().structureHash(), "x", new long[model.plan().segments().size()]);
    members.forEach(member -> member.switcher.announce(model, ModelOptions.DEFAULT));
    members.get(home).switcher.makeReady(model.version());
    List<Integer> both = List.of(home, 1 - home);
    Route route = new Route(model.version(), both, false, members.size(), HALF_LIFE, now);
    routes.put(model.version(), route);
    imports.put(route, model);
    return route;
  }

  private Replicas replicas() {
    return new Replicas(members, HALF_LIFE, () -> now);
  }

  private Switcher other() {
    return members.get(1).switcher;
  }

  private static void takeInto(Route route, int device, long savedNanosPerSecond, long now) {
    // What a steady rate of so much comes to in the end.
    route.couldSave(device, (long) (savedNanosPerSecond / Math.log(2)), now);
  }

  @Test
  void review_theWeightsComeBehindRuns_andTheModelHasTheDeviceOnceAllAreThere() throws Exception {
    open(2, true);
    Route route = model(0);
    Replicas replicas = replicas();
    mayRead = new CountDownLatch(1);
    takeInto(route, 1, SECOND, now);
    replicas.review(routes);
    assertTrue(other().standing().has(route.version));
    now += SECOND / 5;
    replicas.review(routes);
    assertEquals(List.of(0), route.devices(), "its weights are on their way");
    mayRead.countDown();
    TestMembers.await(() -> other().appraisal().isComplete(route.version));
    now += SECOND / 5;
    replicas.review(routes);
    assertEquals(List.of(0, 1), route.devices());
    assertEquals(0, other().transfers().waits(), "nobody waited");
    assertTrue(other().transfers().bytesFetchedAhead() >= MODEL);
  }

  @Test
  void review_weightsThatDoNotCome_areLeft() throws Exception {
    open(1, true);
    Route route = model(0);
    Replicas replicas = replicas();
    mayRead = new CountDownLatch(1);
    takeInto(route, 1, SECOND, now);
    replicas.review(routes);
    TestMembers.await(() -> other().memory().weights().lentBytes() > 0);
    now += 61 * SECOND;
    replicas.review(routes);
    assertEquals(List.of(0), route.devices());
    takeInto(route, 1, SECOND, now);
    replicas.review(routes); // A page is on its way still, which nobody waits for.
    assertEquals(List.of(0), route.devices(), "it is refused for a half-life");
    mayRead.countDown();
    awaitLeft(replicas);
    assertEquals(List.of(0), route.devices());
  }

  /** Reviews until the other device has no weights. */
  private void awaitLeft(Replicas replicas) {
    TestMembers.await(
        () -> {
          replicas.review(routes);
          return other().memory().weights().lentBytes() == 0;
        });
  }

  /** Has its session leave the other device, as for those that need the room; and its weights. */
  private void leave(Route route) {
    other().deregister(route.version);
    other().announce(Objects.requireNonNull(imports.get(route)), ModelOptions.DEFAULT);
    assertFalse(other().standing().has(route.version));
  }

  /** All of a model is on the other device, which is seen by the next look only. */
  private Replicas comesToTheOther(Route route) {
    Replicas replicas = replicas();
    mayRead = new CountDownLatch(1);
    takeInto(route, 1, SECOND, now);
    replicas.review(routes);
    mayRead.countDown();
    TestMembers.await(() -> other().appraisal().isComplete(route.version));
    now += SECOND / 5;
    return replicas;
  }

  @Test
  void review_itsSessionHadToLeaveMeanwhile_isBuiltAgainFirst() throws Exception {
    open(2, true);
    Route route = model(0);
    Replicas replicas = comesToTheOther(route);
    leave(route);
    other().warmUp(route.version);
    replicas.review(routes);
    assertTrue(other().standing().has(route.version));
    assertEquals(List.of(0, 1), route.devices());
  }

  @Test
  void review_itsSessionCannotBeBuiltAgain_theWeightsAreLeft() throws Exception {
    open(2, true);
    Route route = model(0);
    Replicas replicas = comesToTheOther(route);
    leave(route);
    other().warmUp(route.version);
    Files.delete(Objects.requireNonNull(imports.get(route)).gatedModel());
    replicas.review(routes);
    assertEquals(List.of(0), route.devices());
    awaitLeft(replicas);
    assertEquals(List.of(0), route.devices());
  }

  @Test
  void review_itsPagesHadToGiveWayMeanwhile_theyAreSentForAgain() throws Exception {
    open(2, true);
    Route route = model(0);
    Replicas replicas = comesToTheOther(route);
    mayRead = new CountDownLatch(1);
    leave(route);
    replicas.review(routes);
    assertEquals(List.of(0), route.devices());
    mayRead.countDown();
    TestMembers.await(() -> other().appraisal().isComplete(route.version));
    replicas.review(routes);
    assertEquals(List.of(0, 1), route.devices());
  }

  @Test
  void review_theModelMayNotBeThereAnyMore_theWeightsAreLeft() throws Exception {
    open(2, true);
    Route route = model(0);
    Replicas replicas = replicas();
    mayRead = new CountDownLatch(1);
    takeInto(route, 1, SECOND, now);
    replicas.review(routes);
    TestMembers.await(() -> other().memory().weights().lentBytes() > 0);
    route.confine(List.of(0));
    now += SECOND / 5;
    replicas.review(routes);
    mayRead.countDown();
    awaitLeft(replicas);
    assertEquals(List.of(0), route.devices());
    assertTrue(route.settledNanos(now) > HALF_LIFE.toNanos(), "its devices are the same");
  }

  /** The other device's model was used once, as far as the policy knows, and is asked for a lot. */
  @Test
  void review_whatWouldGiveWayIsAskedForALot_staysAlone() throws Exception {
    open(1, false);
    Route route = model(0);
    Route there = model(1);
    long stall = other().appraisal().stallNanos(route.version);
    assertTrue(stall > 0);
    long gain = Math.max(5 * stall, 2 * (long) ReplicaRule.LEAST_TO_OPEN);
    for (int i = 0; i < 10 * gain / stall; i++) {
      there.asked(1, now);
    }
    Replicas replicas = replicas();
    takeInto(route, 1, gain, now);
    replicas.review(routes);
    assertEquals(List.of(0), route.devices());
    assertFalse(other().appraisal().isComplete(route.version));
    now += 20 * SECOND; // It is no longer.
    takeInto(route, 1, gain, now);
    replicas.review(routes);
    assertEquals(List.of(0, 1), route.devices());
  }

  private InferenceRequest request(Route route) {
    MemorySegment x = Arena.ofAuto().allocate(WIDTH * (long) Float.BYTES);
    InputTensor input = new InputTensor("x", TensorType.FP32, Shape.of(1, WIDTH), x);
    return new InferenceRequest(route.version, List.of(input), List.of("y"));
  }

  /** A request that is under way in simulated time. */
  private record Departure(Route route, Member member, long workNanos, long nanos) {}

  /** Where requests went in the last third of a minute, and how long they waited for a lane. */
  private record Balance(long first, long second, long waitedNanos) {
    double shareOfSecond() {
      return second / (double) (first + second);
    }

    double meanWaitNanos() {
      return waitedNanos / (double) (first + second);
    }
  }

  /**
   * Requests for all models, at random, at 0.9 of what one device can do, where a run takes 10 ms
   * and what it waits for its weights. No request runs, all else is as it is in a server.
   */
  private Balance balanced(long seed) {
    Random random = new Random(seed);
    List<Route> all = List.copyOf(routes.values());
    Replicas replicas = replicas();
    Router router = new Router(members, Routing.PREDICTED, true, _ -> false, () -> now);
    PriorityQueue<Departure> departures =
        new PriorityQueue<>(Comparator.comparingLong(Departure::nanos));
    long[] freeAt = new long[2];
    long[] given = new long[2];
    long review = 0;
    long waited = 0;
    while (now < 60 * SECOND) {
      now += (long) (-Math.log(1 - random.nextDouble()) * RUN / 0.9);
      while (!departures.isEmpty() && departures.peek().nanos <= now) {
        Departure gone = departures.remove();
        gone.member.backlog.left(Priority.ONLINE, gone.workNanos);
        gone.route.left(gone.member.index);
      }
      for (; review <= now; review = now + SECOND / 5) {
        replicas.review(routes);
        members.forEach(ReplicasTest::awaitQuiet);
      }
      Route route = all.get(random.nextInt(all.size()));
      InferenceRequest request = request(route);
      Member member = router.choose(route, request).member();
      router.count(route, request, member);
      long work = RUN + member.switcher.appraisal().stallNanos(route.version);
      member.switcher.warmUp(route.version);
      member.backlog.came(Priority.ONLINE, work);
      route.came(member.index);
      long begins = Math.max(now, freeAt[member.index]);
      freeAt[member.index] = begins + work;
      departures.add(new Departure(route, member, work, begins + work));
      if (now > 40 * SECOND) {
        given[member.index]++;
        waited += begins - now;
      }
    }
    return new Balance(given[0], given[1], waited);
  }

  private static void awaitQuiet(Member member) {
    TestMembers.await(() -> member.switcher.memory().weights().isQuiet());
  }

  /** Each of them takes seconds. */
  private static LongStream seeds() {
    return LongStream.rangeClosed(1, Boolean.getBoolean("pipelane.long") ? 5 : 2);
  }

  private void requireBalanced(long seed) {
    Balance balance = balanced(seed);
    String where = "seed %d: %s".formatted(seed, balance);
    assertTrue(balance.shareOfSecond() > 0.3 && balance.shareOfSecond() < 0.7, where);
    assertTrue(balance.meanWaitNanos() < RUN, where + "; on one device the mean is 45 ms");
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void allModelsAtHomeOnOneDevice_theOtherHasHalfOfTheRequestsInTheEnd(long seed) throws Exception {
    open(6, false);
    for (int i = 0; i < 6; i++) {
      model(0);
    }
    requireBalanced(seed);
  }

  /** Each device has room for half of them, and weights come ahead of requests. */
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void allModelsAtHomeOnOneDevice_memoryIsScarce_theOtherHasHalfOfTheRequestsInTheEnd(long seed)
      throws Exception {
    double modelsPerSecond = SECOND / (RUN / 2.0); // A missing model keeps a run for half its time.
    LinkModel link = LinkModel.line(0, modelsPerSecond * MODEL);
    open(3, true, Optional.of(new PipelineCosts(link, 0, 0)));
    for (int i = 0; i < 6; i++) {
      model(0);
    }
    requireBalanced(seed);
  }
}
