package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.StandingSessions;
import io.pipelane.switcher.SwitcherSettings;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.worker.SessionOverview;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two devices of the processor, and a clock that is set by hand. */
class RunsAheadTest {
  private static final int WIDTH = 16;
  private static final int RUNS = 2;

  @TempDir private Path folder;
  private final TestMembers devices = new TestMembers();
  private final List<SeatedSessions> seated = new ArrayList<>();
  private final List<Route> routes = new ArrayList<>();
  private final List<ImportedModel> imports = new ArrayList<>();
  private final Map<ModelVersion, Double> uses = new HashMap<>();
  private final List<InferenceRequest> asked = new ArrayList<>();
  private Hold behaviour = RunsAheadTest::answer;
  private long now;

  private final RunsAhead runs =
      new RunsAhead(
          devices.all,
          member -> (request, handler) -> take(member, request, handler),
          RUNS,
          () -> now);

  private Ticket take(Member member, InferenceRequest request, ResultHandler handler) {
    assertEquals(1, member.index, "it is at home on the first device");
    asked.add(request);
    return behaviour.submit(request, handler);
  }

  private static Ticket answer(InferenceRequest request, ResultHandler handler) {
    handler.completed(new InferenceTimings(0, 0, 1));
    return Ticket.ENDED;
  }

  @BeforeEach
  void openDevices() {
    for (int i = 0; i < 2; i++) {
      seated.add(
          devices.openSeated(
              new SwitcherSettings(
                  1 << 20, 64 << 20, 2, 1000, 64 << 20, new EqualBytesGrouping(8, 1)),
              model -> new ZeroWeights(model, () -> {})));
    }
  }

  @AfterEach
  void everythingIsGivenBack() {
    devices.close();
  }

  /** A model at home on the first device, asked for so often. */
  private Route model(double asked, boolean keepsState) throws IOException {
    return model(asked, keepsState, 2 + routes.size(), 0);
  }

  /** One of variants of one structure. */
  private Route variant(int home) throws IOException {
    return model(2, false, 2, home);
  }

  private Route model(double asked, boolean keepsState, int layers, int home) throws IOException {
    int number = routes.size();
    ImportedModel model =
        TestImports.of(TestModels.chain(layers, WIDTH, number), "m" + number, folder);
    devices.all.forEach(member -> member.switcher.announce(model, ModelOptions.DEFAULT));
    Route route =
        new Route(
            model.version(), List.of(home, 1 - home), keepsState, 2, Duration.ofSeconds(1), now);
    routes.add(route);
    imports.add(model);
    uses.put(model.version(), Math.log(asked));
    return route;
  }

  /** One whose session stands ready on the second device. */
  private Route ready(double asked) throws IOException {
    Route route = model(asked, false);
    assertTrue(devices.switcher(1).buildAhead(route.version));
    return route;
  }

  /** One whose sessions stand ready in all lanes of the second device. */
  private Route readyInAllLanes(double asked) throws IOException {
    Route route = ready(asked);
    StandingSessions standing = devices.switcher(1).standing();
    while (standing.count(route.version) < standing.most()) {
      assertTrue(standing.buildInAnotherLane(route.version));
    }
    assertTrue(standing.most() > 1);
    return route;
  }

  private static void ask(Route route, TensorType type, int rows) {
    InputTensor x =
        new InputTensor(
            "x",
            type,
            Shape.of(rows, WIDTH),
            Arena.ofAuto().allocate((long) rows * WIDTH * Float.BYTES));
    route.askedAs(new InferenceRequest(route.version, List.of(x), List.of("y")));
  }

  private void assertAsked(int times, Route route) {
    assertEquals(times, asked.stream().filter(each -> each.model().equals(route.version)).count());
  }

  private void look(int times) {
    for (int i = 0; i < times; i++) {
      runs.review(routes, uses);
    }
  }

  /** As many looks as all runs of one model take, and one to see that there are no more. */
  private void lookThrough() {
    look(RUNS + 2);
  }

  @Test
  void review_aSessionThatStandsReady_runsAsOfflineWork_inTheFormThatWasAskedForLast()
      throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    ask(route, TensorType.FP32, 3);
    lookThrough();
    assertAsked(RUNS, route);
    for (InferenceRequest request : asked) {
      assertEquals(Priority.OFFLINE, request.priority());
      assertEquals(Shape.of(3, WIDTH), request.inputs().getFirst().shape());
      assertEquals(3 * WIDTH * Float.BYTES, request.inputs().getFirst().data().byteSize());
      assertEquals(List.of("y"), request.outputs());
    }
    ask(route, TensorType.FP32, 1);
    lookThrough();
    assertAsked(RUNS, route);
  }

  @Test
  void review_theNextRunBegins_inALaterLookThanTheOneBeforeEnded() throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    List<ResultHandler> handlers = new ArrayList<>();
    behaviour =
        (_, handler) -> {
          handlers.add(handler);
          return Ticket.ENDED;
        };
    look(3);
    assertAsked(1, route);
    handlers.getFirst().completed(new InferenceTimings(0, 0, 1));
    assertAsked(1, route);
    look(3);
    assertAsked(2, route);
    handlers.getLast().completed(new InferenceTimings(0, 0, 1));
    lookThrough();
    assertAsked(RUNS, route);
  }

  @Test
  void review_realDevice_whatHasRunCountsAsWhatNobodyAskedFor() throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    AtomicInteger ends = new AtomicInteger();
    behaviour =
        (request, handler) ->
            devices.switcher(1).submit(request, new Forwarding(handler, ends::incrementAndGet));
    for (int run = 1; run <= RUNS; run++) {
      look(1);
      int wanted = run;
      TestMembers.await(() -> ends.get() == wanted);
      TestMembers.await(() -> devices.switcher(1).memory().weights().isQuiet());
    }
    assertTrue(usesOnTheSecond(route) > Double.NEGATIVE_INFINITY);
    look(1);
    assertEquals(RUNS, asked.size());
    assertEquals(Double.NEGATIVE_INFINITY, usesOnTheSecond(route));
  }

  private double usesOnTheSecond(Route route) {
    return devices
        .switcher(1)
        .appraisal()
        .uses()
        .getOrDefault(route.version, Double.NEGATIVE_INFINITY);
  }

  /** Tells of the end, too. */
  private record Forwarding(ResultHandler handler, Runnable end) implements ResultHandler {
    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long bytes) {
      return handler.place(name, type, shape, bytes);
    }

    @Override
    public void completed(InferenceTimings timings) {
      handler.completed(timings);
      end.run();
    }

    @Override
    public void failed(StatusException error) {
      handler.failed(error);
    }
  }

  @Test
  void review_oneModelAtATime_theMostUsedFirst_andNoneWithoutUseOrSession() throws IOException {
    Route some = ready(2);
    Route most = ready(5);
    Route unused = ready(0.1);
    Route without = model(9, false);
    routes.forEach(route -> ask(route, TensorType.FP32, 1));
    look(RUNS);
    assertAsked(RUNS, most);
    assertAsked(0, some);
    look(RUNS + 1);
    assertAsked(RUNS, some);
    lookThrough();
    assertAsked(0, unused);
    assertAsked(0, without);
  }

  @Test
  void review_whatNobodyAskedFor_whatCannotBeMadeUp_andStates_areLeft() throws IOException {
    Route _ = ready(2);
    Route strings = ready(2);
    ask(strings, TensorType.BYTES, 1);
    Route state = model(2, true);
    assertTrue(devices.switcher(1).buildAhead(state.version));
    ask(state, TensorType.FP32, 1);
    lookThrough();
    assertEquals(List.of(), asked);
  }

  @Test
  void review_variantsOfOneSession_runOnce_andNotWhereTheDevicesOwnModelHasIt() throws IOException {
    Route first = variant(0);
    Route second = variant(0);
    for (Route each : List.of(first, second)) {
      ask(each, TensorType.FP32, 1);
    }
    assertTrue(devices.switcher(1).buildAhead(first.version));
    lookThrough();
    lookThrough();
    assertEquals(RUNS, asked.size());
    Route own = variant(1);
    assertTrue(own.open(1, now));
    ask(first, TensorType.FP32, 2);
    asked.clear();
    devices.switcher(1).deregister(first.version);
    lookThrough();
    assertEquals(List.of(), asked);
  }

  @Test
  void review_whileAnyWorkIsThere_runsNothing() throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    Member other = devices.all.get(1);
    for (Priority priority : Priority.values()) {
      other.backlog.came(priority, 1_000);
      lookThrough();
      assertAsked(0, route);
      other.backlog.left(priority, 1_000);
    }
    lookThrough();
    assertAsked(RUNS, route);
  }

  @Test
  void review_noTimeNow_isCancelled_andTriedAgainAfterARest_behindThoseThatNeverWere()
      throws IOException {
    Route route = ready(9);
    ask(route, TensorType.FP32, 1);
    AtomicInteger cancelled = new AtomicInteger();
    behaviour = (_, _) -> cancelled::incrementAndGet;
    look(1);
    now += RunsAhead.LONGEST_NANOS - 1;
    look(1);
    assertEquals(0, cancelled.get());
    now++;
    look(1);
    assertEquals(1, cancelled.get());
    assertAsked(1, route);
    Route other = ready(2);
    ask(other, TensorType.FP32, 1);
    behaviour = RunsAheadTest::answer;
    now += RunsAhead.REST_NANOS - 1;
    lookThrough();
    assertAsked(RUNS, other);
    assertAsked(1, route);
    Route third = ready(1);
    ask(third, TensorType.FP32, 1);
    now++;
    look(RUNS);
    assertAsked(RUNS, third);
    assertAsked(1, route);
    lookThrough();
    assertAsked(RUNS, route);
  }

  @Test
  void review_aRunThatIsRefused_isLeft_untilTheModelIsAskedForInAnotherForm() throws IOException {
    Route refused = ready(9);
    Route route = ready(2);
    routes.forEach(each -> ask(each, TensorType.FP32, 1));
    behaviour = refusing(new StatusException(Status.INVALID_ARGUMENT, "refused on purpose"));
    look(1);
    look(1);
    assertAsked(1, refused);
    behaviour = RunsAheadTest::answer;
    now += 3 * RunsAhead.REST_NANOS;
    lookThrough();
    assertAsked(1, refused);
    assertAsked(RUNS, route);
    ask(refused, TensorType.FP32, 2);
    lookThrough();
    assertAsked(1 + RUNS, refused);
  }

  @Test
  void review_aRunThatCostsAWorker_isNotTriedAgain() throws IOException {
    Route route = ready(9);
    ask(route, TensorType.FP32, 1);
    behaviour =
        refusing(
            StatusException.unavailable(
                "lost on purpose",
                Duration.ofSeconds(1),
                new WorkerLostException("lost on purpose", WorkerLostException.Blame.ALONE)));
    lookThrough();
    ask(route, TensorType.FP32, 2);
    behaviour = RunsAheadTest::answer;
    now += 3 * RunsAhead.REST_NANOS;
    lookThrough();
    assertAsked(1, route);
  }

  @Test
  void review_severalLanes_runsInEach_allModelsInOneLaneFirst() throws IOException {
    Route most = readyInAllLanes(5);
    Route some = readyInAllLanes(2);
    routes.forEach(each -> ask(each, TensorType.FP32, 1));
    int lanes = devices.switcher(1).standing().most();
    look(2 * (RUNS + 1));
    assertAsked(RUNS, most);
    assertAsked(RUNS, some);
    look(2 * lanes * (RUNS + 1));
    for (Route route : routes) {
      Map<EphemeralRegion, Integer> runsIn = new HashMap<>();
      asked.stream()
          .filter(each -> each.model().equals(route.version))
          .forEach(each -> runsIn.merge(each.lane().orElseThrow(), 1, Integer::sum));
      assertEquals(devices.switcher(1).standing().lanes(route.version), runsIn.keySet());
      runsIn.values().forEach(times -> assertEquals(RUNS, times));
    }
  }

  @Test
  void review_realDevice_eachSessionRunsSoOften_andNobodyHasAskedForAny() throws IOException {
    Route route = readyInAllLanes(2);
    ask(route, TensorType.FP32, 1);
    int lanes = devices.switcher(1).standing().most();
    lookWithRealRuns(lanes);
    assertEquals(Collections.nCopies(lanes, RUNS), seated.get(1).runs(route.version));
    SessionOverview.Entry entry =
        devices.switcher(1).memory().sessions().entries().stream()
            .filter(each -> each.sessions() > 0)
            .findFirst()
            .orElseThrow();
    assertEquals(lanes, entry.sessions());
    assertEquals(lanes, entry.unasked());
    assertEquals(lanes, entry.ranAhead());
    assertEquals(lanes, devices.switcher(1).memory().sessions().built(), "nothing else was built");
    assertEquals(Double.NEGATIVE_INFINITY, usesOnTheSecond(route));
  }

  private void lookWithRealRuns(int lanes) {
    AtomicInteger ends = new AtomicInteger();
    behaviour =
        (request, handler) ->
            devices.switcher(1).submit(request, new Forwarding(handler, ends::incrementAndGet));
    for (int run = 1; run <= lanes * RUNS; run++) {
      int wanted = run;
      for (int i = 0; i < 2; i++) { // One may see that a session's runs are over.
        look(1);
      }
      TestMembers.await(() -> ends.get() >= wanted && devices.switcher(1).isIdle());
    }
    look(1);
  }

  @Test
  void review_aSessionThatHasLeftItsLane_isNotBuiltForARun() throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    EphemeralRegion having = devices.switcher(1).standing().lanes(route.version).iterator().next();
    Route everywhere = readyInAllLanes(0.1);
    EphemeralRegion without =
        devices.switcher(1).standing().lanes(everywhere.version).stream()
            .filter(lane -> !lane.equals(having))
            .findFirst()
            .orElseThrow();
    long built = devices.switcher(1).memory().sessions().built();
    behaviour = (request, handler) -> devices.switcher(1).submit(request.in(without), handler);
    look(1);
    TestMembers.await(() -> devices.switcher(1).isIdle());
    look(1);
    assertEquals(built, devices.switcher(1).memory().sessions().built());
    assertAsked(1, route);
    behaviour = RunsAheadTest::answer;
    now += RunsAhead.REST_NANOS;
    lookThrough();
    assertAsked(1 + RUNS, route);
  }

  @Test
  void review_whatWasRefusedInOneLane_isLeftInAll() throws IOException {
    Route route = readyInAllLanes(2);
    ask(route, TensorType.FP32, 1);
    behaviour = refusing(new StatusException(Status.INVALID_ARGUMENT, "refused on purpose"));
    look(4);
    assertAsked(1, route);
  }

  @Test
  void review_triedAgain_makesNoMoreRunsInASessionThanHaveItCaptured() throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    List<ResultHandler> handlers = new ArrayList<>();
    behaviour =
        (_, handler) -> {
          handlers.add(handler);
          return Ticket.ENDED;
        };
    look(1);
    handlers.getFirst().completed(new InferenceTimings(0, 0, 1));
    look(1);
    now += RunsAhead.LONGEST_NANOS;
    look(1);
    assertAsked(RUNS, route);
    now += RunsAhead.REST_NANOS;
    lookThrough();
    assertAsked(RUNS, route);
  }

  @Test
  void review_capturedLate_runsAsOften_orOnceWhereThatIsFarOff() throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    Map<Integer, Integer> expected =
        Map.of(1, 1, 5, 5, RunsAhead.MOST_RUNS, RunsAhead.MOST_RUNS, RunsAhead.MOST_RUNS + 1, 1);
    expected.forEach(
        (firstRuns, times) -> {
          asked.clear();
          RunsAhead late =
              new RunsAhead(
                  devices.all,
                  member -> (request, handler) -> take(member, request, handler),
                  firstRuns,
                  () -> now);
          for (int i = 0; i < RunsAhead.MOST_RUNS + 2; i++) {
            late.review(routes, uses);
          }
          assertAsked(times, route);
        });
  }

  @Test
  void review_twoDevices_eachRunsTheOthersModelAhead_atTheSameTime() throws IOException {
    Route first = ready(2);
    Route second = model(2, false, 9, 1);
    assertTrue(devices.switcher(0).buildAhead(second.version));
    routes.forEach(each -> ask(each, TensorType.FP32, 1));
    List<ResultHandler> onTheFirst = new ArrayList<>();
    List<ResultHandler> onTheSecond = new ArrayList<>();
    RunsAhead both =
        new RunsAhead(
            devices.all,
            member ->
                (request, handler) -> {
                  boolean isSecond = member.index == 1;
                  assertEquals(isSecond ? first.version : second.version, request.model());
                  (isSecond ? onTheSecond : onTheFirst).add(handler);
                  return Ticket.ENDED;
                },
            RUNS,
            () -> now);
    both.review(routes, uses);
    both.review(routes, uses);
    assertEquals(1, onTheFirst.size());
    assertEquals(1, onTheSecond.size());
    onTheSecond.getFirst().completed(new InferenceTimings(0, 0, 1));
    both.review(routes, uses);
    assertEquals(2, onTheSecond.size());
    assertEquals(1, onTheFirst.size(), "the other one waits for its own");
  }

  @Test
  void review_aSessionThatIsBuiltAnew_runsAgain() throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    lookThrough();
    ImportedModel model = imports.get(routes.indexOf(route));
    devices.switcher(1).deregister(route.version);
    devices.switcher(1).announce(model, ModelOptions.DEFAULT);
    look(1);
    assertAsked(RUNS, route);
    assertTrue(devices.switcher(1).buildAhead(route.version));
    lookThrough();
    assertAsked(2 * RUNS, route);
  }

  private static Hold refusing(StatusException failure) {
    return (_, handler) -> {
      handler.failed(failure);
      return Ticket.ENDED;
    };
  }
}
