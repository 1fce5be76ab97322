package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.PlacementConfig.Routing;
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
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.Switcher;
import io.pipelane.switcher.SwitcherSettings;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two devices of the processor, and a clock that is set by hand. */
class ReadySessionsTest {
  private static final int WIDTH = 16;
  private static final long WEIGHTS = 1 << 20;
  private static final long WORKING = 64 << 20;
  private static final long LOOK = Duration.ofMillis(200).toNanos();

  @TempDir private Path folder;
  private final TestMembers devices = new TestMembers();
  private final List<Member> members = devices.all;
  private final List<Route> routes = new ArrayList<>();
  private final Map<ModelVersion, Double> uses = new HashMap<>();
  private final Map<Route, ImportedModel> imports = new HashMap<>();
  private final Set<ModelVersion> asked = ConcurrentHashMap.newKeySet();
  private final List<String> askedOn = new ArrayList<>();
  private double freeShare = 1;
  private long now;

  @BeforeEach
  void openDevices() {
    open();
    open();
  }

  private void open() {
    devices.open(settings(), this::weights);
  }

  private static SwitcherSettings settings() {
    return SwitcherSettings.of(WEIGHTS, WORKING, 2, 1000, 64 << 20, new EqualBytesGrouping(8, 1));
  }

  @AfterEach
  void everythingIsGivenBack() {
    devices.close();
  }

  /** Zeros, for those that are asked. */
  private WeightSource weights(ImportedModel model) {
    return new ZeroWeights(
        model,
        () ->
            assertTrue(
                asked.contains(model.version()), "a session that stands ready needs no weights"));
  }

  /** A model of a structure of its own, at home on the first device, asked for so often. */
  private Route model(double asked) throws IOException {
    return model(asked, 2 + routes.size(), 0);
  }

  /** Models of as many layers are variants of one structure. */
  private Route model(double asked, int layers, int home) throws IOException {
    int number = routes.size();
    ImportedModel model =
        TestImports.of(TestModels.chain(layers, WIDTH, number), "m" + number, folder);
    members.forEach(member -> member.switcher.announce(model, ModelOptions.DEFAULT));
    assertTrue(members.get(home).switcher.standing().buildAhead(model.version()));
    List<Integer> all = new ArrayList<>(List.of(home));
    members.stream().map(member -> member.index).filter(index -> index != home).forEach(all::add);
    Route route =
        new Route(model.version(), all, false, members.size(), Duration.ofSeconds(1), now);
    routes.add(route);
    imports.put(route, model);
    uses.put(model.version(), Math.log(asked));
    return route;
  }

  private void noteAsked(ModelVersion version, Member member) {
    askedOn.add(version + " on " + member.name);
  }

  private static InferenceRequest request(Route route) {
    MemorySegment x = Arena.ofAuto().allocate(WIDTH * (long) Float.BYTES);
    InputTensor input = new InputTensor("x", TensorType.FP32, Shape.of(1, WIDTH), x);
    return new InferenceRequest(route.version, List.of(input), List.of("y"));
  }

  private ReadySessions ready(int most) {
    return new ReadySessions(
        members, most, (_, bytes) -> freeShare - (double) bytes / WORKING, () -> now);
  }

  private boolean isOn(int device, Route route) {
    return members.get(device).switcher.standing().has(route.version);
  }

  /** Has a session leave, as it would for others that need the room. */
  private void leave(int device, Route route) {
    Switcher switcher = members.get(device).switcher;
    switcher.deregister(route.version);
    switcher.announce(Objects.requireNonNull(imports.get(route)), ModelOptions.DEFAULT);
  }

  private long builtOn(int device) {
    return members.get(device).switcher.memory().sessions().built();
  }

  @Test
  void review_oneSessionAtATime_theMostUsedFirst_andNoneWithoutUse() throws IOException {
    Route some = model(2);
    Route most = model(5);
    Route unused = model(0.1);
    ReadySessions ready = ready(32);
    ready.review(routes, uses);
    assertTrue(isOn(1, most));
    assertFalse(isOn(1, some));
    ready.review(routes, uses);
    assertTrue(isOn(1, some));
    ready.review(routes, uses);
    assertFalse(isOn(1, unused));
    assertEquals(2, builtOn(1));
    assertEquals(3, builtOn(0), "they have it at home");
    assertEquals(0, members.get(1).switcher.memory().weights().lentBytes());
  }

  @Test
  void review_atTheLimit_buildsNoMore() throws IOException {
    for (int i = 0; i < 4; i++) {
      model(2 + i);
    }
    ReadySessions ready = ready(2);
    for (int i = 0; i < 4; i++) {
      ready.review(routes, uses);
    }
    assertEquals(2, builtOn(1));
    assertTrue(isOn(1, routes.get(3)));
    assertTrue(isOn(1, routes.get(2)));
  }

  @Test
  void review_whileOnlineWorkIsThere_buildsNothing() throws IOException {
    Route route = model(2);
    Member other = members.get(1);
    other.backlog.came(Priority.ONLINE, 1_000);
    ReadySessions ready = ready(32);
    ready.review(routes, uses);
    assertFalse(isOn(1, route));
    other.backlog.left(Priority.ONLINE, 1_000);
    other.backlog.came(Priority.OFFLINE, 1_000);
    ready.review(routes, uses);
    assertTrue(isOn(1, route));
  }

  /** A third device, whose sessions belong to lanes; it has none of the models. */
  private Member openSeated() {
    devices.openSeated(settings(), this::weights);
    devices.lose(1);
    return members.get(2);
  }

  private int sessionsOn(Member member, Route route) {
    return member.switcher.standing().count(route.version);
  }

  @Test
  void review_sessionsOfLanes_eachModelHasOneFirst_thenAllHaveOneInEveryLane() throws IOException {
    Member seated = openSeated();
    Route most = model(5);
    Route some = model(2);
    ReadySessions ready = ready(2);
    for (int i = 0; i < 2; i++) {
      ready.review(routes, uses);
    }
    assertEquals(1, sessionsOn(seated, most));
    assertEquals(1, sessionsOn(seated, some));
    int lanes = seated.switcher.standing().most();
    for (int i = 0; i < 2 * lanes; i++) {
      ready.review(routes, uses);
    }
    assertEquals(lanes, sessionsOn(seated, most));
    assertEquals(lanes, sessionsOn(seated, some));
    assertEquals(2L * lanes, seated.switcher.memory().sessions().built());
    assertEquals(0, seated.switcher.memory().weights().lentBytes());
  }

  @Test
  void review_whereHalfWouldNotStayFree_noModelHasASecondSession() throws IOException {
    Member seated = openSeated();
    Route most = model(5);
    Route some = model(2);
    freeShare = 0.5;
    ReadySessions ready = ready(32);
    for (int i = 0; i < 4; i++) {
      ready.review(routes, uses);
    }
    assertEquals(1, sessionsOn(seated, most));
    assertEquals(1, sessionsOn(seated, some));
    freeShare = 0.75;
    ready.review(routes, uses);
    assertEquals(2, sessionsOn(seated, most));
  }

  @Test
  void review_inOtherLanes_nothingIsBuiltForTheDevicesOwnModels_orThoseThatItMayNotHave()
      throws IOException {
    Member seated = openSeated();
    Route own = model(5, 2, seated.index);
    Route elsewhere = model(2, 3, 0);
    ReadySessions ready = ready(32);
    ready.review(List.of(elsewhere), uses);
    elsewhere.confine(List.of(0));
    for (int i = 0; i < 4; i++) {
      ready.review(routes, uses);
    }
    assertEquals(1, sessionsOn(seated, own));
    assertEquals(1, sessionsOn(seated, elsewhere));
  }

  @Test
  void review_aSecondSessionThatLeavesSoon_hasTheDeviceRest() throws IOException {
    Member seated = openSeated();
    Route route = model(5);
    ReadySessions ready = ready(32);
    ready.review(routes, uses);
    ready.review(routes, uses);
    assertEquals(2, sessionsOn(seated, route));
    leave(2, route);
    assertTrue(seated.switcher.standing().buildAhead(route.version));
    ready.review(routes, uses);
    assertEquals(1, sessionsOn(seated, route));
    now += Stays.FIRST_REST.toNanos();
    ready.review(routes, uses);
    assertEquals(2, sessionsOn(seated, route));
  }

  @Test
  void review_aModelOfTwoDevicesNeedsNoThird_untilOneIsLost() throws IOException {
    open();
    Route route = model(2);
    assertTrue(route.open(1, now));
    ReadySessions ready = ready(32);
    ready.review(routes, uses);
    assertFalse(isOn(2, route));
    devices.lose(0);
    ready.review(routes, uses);
    assertTrue(isOn(2, route));
  }

  @Test
  void review_whereAQuarterWouldNotStayFree_buildsNothing() throws IOException {
    Route route = model(2);
    double size = (double) members.getFirst().switcher.standing().bytes(route.version) / WORKING;
    ReadySessions ready = ready(32);
    for (double free : List.of(0.2, 0.25, 0.25 + size / 2)) {
      freeShare = free;
      ready.review(routes, uses);
      assertFalse(isOn(1, route), "free: " + free);
    }
    freeShare = 0.25 + size;
    ready.review(routes, uses);
    assertTrue(isOn(1, route));
  }

  @Test
  void review_variantsShareASession_whichCountsOnce() throws IOException {
    List<Route> variants = List.of(model(9, 2, 0), model(8, 2, 0), model(7, 2, 0));
    Route other = model(6, 3, 0);
    Route third = model(5, 4, 0);
    ReadySessions ready = ready(2);
    for (int i = 0; i < 4; i++) {
      ready.review(routes, uses);
    }
    variants.forEach(variant -> assertTrue(isOn(1, variant)));
    assertTrue(isOn(1, other));
    assertFalse(isOn(1, third), "two stand ready");
    assertEquals(2, builtOn(1));
  }

  @Test
  void review_aSessionThatTheDevicesOwnModelHas_countsNothing() throws IOException {
    Route own = model(9, 2, 1);
    Route variant = model(8, 2, 0);
    Route other = model(7, 3, 0);
    ready(1).review(routes, uses);
    assertTrue(isOn(1, own));
    assertTrue(isOn(1, variant), "nothing has to be built for it");
    assertTrue(isOn(1, other));
    assertEquals(2, builtOn(1));
  }

  @Test
  void review_whatIsBuiltLeavesSoonAgain_isBuiltEverMoreSeldom_untilOneStays() throws IOException {
    for (int i = 0; i < 4; i++) {
      model(2 + i);
    }
    ReadySessions ready = ready(32);
    long longest = Duration.ofMinutes(10).toNanos();
    for (; now < longest; now += LOOK) {
      ready.review(routes, uses);
      routes.stream().filter(route -> isOn(1, route)).forEach(route -> leave(1, route));
    }
    // At 0, 0.5, 1.5, 3.5 and 7.5 minutes.
    assertEquals(5, builtOn(1));
    for (longest += Duration.ofMinutes(6).toNanos(); now < longest; now += LOOK) {
      ready.review(routes, uses);
    }
    assertEquals(6, builtOn(1), "the one after the rest has to stay first");
    for (longest += Duration.ofSeconds(40).toNanos(); now < longest; now += LOOK) {
      ready.review(routes, uses);
    }
    assertEquals(9, builtOn(1));
  }

  @Test
  void review_aDeviceThatCouldNotBuildASession_isNotTriedForAWhile() throws IOException {
    Route route = model(2);
    Path graph = Objects.requireNonNull(imports.get(route)).gatedModel();
    Path aside = folder.resolve("aside");
    Files.move(graph, aside);
    ReadySessions ready = ready(32);
    ready.review(routes, uses);
    assertFalse(isOn(1, route));
    Files.move(aside, graph);
    now += ReadySessions.REST_NANOS - 1;
    ready.review(routes, uses);
    assertFalse(isOn(1, route), "it rests");
    now++;
    ready.review(routes, uses);
    assertTrue(isOn(1, route));
  }

  @Test
  void review_aModelThatCannotBeBuilt_keepsNoOtherWaiting() throws IOException {
    Route broken = model(9);
    Route route = model(2);
    Files.delete(Objects.requireNonNull(imports.get(broken)).gatedModel());
    ReadySessions ready = ready(32);
    ready.review(routes, uses);
    ready.review(routes, uses);
    assertTrue(isOn(1, route));
  }

  @Test
  void review_whileAPartOfAModelOverSeveralDevicesRuns_buildsNothingThere() throws IOException {
    Route route = model(2);
    Route part = model(0.1, 3, 1);
    asked.add(part.version);
    ReadySessions ready = ready(32);
    Span span = new Span("both", Map.of(part.version.model(), members.get(1)), this::noteAsked);
    CompletableFuture<Boolean> builtMeanwhile = new CompletableFuture<>();
    CompletableFuture<Void> answered = new CompletableFuture<>();
    try (Hold whole = span.switchIn(List.of(part.version))) {
      InferenceService.Ticket _ =
          whole.submit(
              request(part),
              new ResultHandler() {
                @Override
                public MemorySegment place(String name, TensorType type, Shape shape, long bytes) {
                  ready.review(routes, uses);
                  builtMeanwhile.complete(isOn(1, route));
                  return Arena.ofAuto().allocate(bytes, 64);
                }

                @Override
                public void completed(InferenceTimings timings) {
                  answered.complete(null);
                }

                @Override
                public void failed(StatusException error) {
                  answered.completeExceptionally(error);
                }
              });
      answered.join();
    }
    assertFalse(builtMeanwhile.join());
    assertEquals(List.of(part.version + " on cpu:1"), askedOn);
    assertEquals(0, members.get(1).backlog.requests());
    ready.review(routes, uses);
    assertTrue(isOn(1, route));
  }

  @Test
  void submit_aPartThatIsRefused_leavesNothingUnderWay() throws IOException {
    Route part = model(2, 3, 1);
    asked.add(part.version);
    Span span = new Span("both", Map.of(part.version.model(), members.get(1)), this::noteAsked);
    try (Hold whole = span.switchIn(List.of(part.version))) {
      devices.lose(1);
      CompletableFuture<Void> failed = new CompletableFuture<>();
      try {
        InferenceService.Ticket _ = whole.submit(request(part), new Failing(failed));
        assertThrows(CompletionException.class, failed::join);
      } catch (StatusException e) { // At once is as good.
        assertEquals(Status.DEVICE_FAILURE, e.status());
      }
    }
    assertEquals(0, members.get(1).backlog.requests());
  }

  /** Told of a failure. */
  private record Failing(CompletableFuture<Void> failed) implements ResultHandler {
    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long bytes) {
      return Arena.ofAuto().allocate(bytes, 64);
    }

    @Override
    public void completed(InferenceTimings timings) {
      failed.complete(null);
    }

    @Override
    public void failed(StatusException error) {
      failed.completeExceptionally(error);
    }
  }

  @Test
  void choose_deviceLost_theOneWithAReadySessionTakesOver() throws IOException {
    open();
    Route route = model(2);
    assertTrue(members.get(2).switcher.standing().buildAhead(route.version));
    devices.lose(0);
    Router router = new Router(members, Routing.PREDICTED, true, _ -> false, () -> now);
    assertEquals(members.get(2), router.choose(route, request(route)).member());
  }
}
