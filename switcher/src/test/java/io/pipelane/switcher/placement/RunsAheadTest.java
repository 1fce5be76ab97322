package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
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
import io.pipelane.switcher.SwitcherSettings;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
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

  @TempDir private Path folder;
  private final TestMembers devices = new TestMembers();
  private final List<Route> routes = new ArrayList<>();
  private final List<ImportedModel> imports = new ArrayList<>();
  private final Map<ModelVersion, Double> uses = new HashMap<>();
  private final List<InferenceRequest> asked = new ArrayList<>();
  private Hold behaviour = RunsAheadTest::answer;
  private long now;

  private final RunsAhead runs =
      new RunsAhead(
          devices.all, member -> (request, handler) -> take(member, request, handler), () -> now);

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
      devices.open(
          new SwitcherSettings(1 << 20, 64 << 20, 2, 1000, 64 << 20, new EqualBytesGrouping(8, 1)),
          model -> new ZeroWeights(model, () -> {}));
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
    look(RunsAhead.RUNS + 2);
  }

  @Test
  void review_aSessionThatStandsReady_runsAsOfflineWork_inTheFormThatWasAskedForLast()
      throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    ask(route, TensorType.FP32, 3);
    lookThrough();
    assertAsked(RunsAhead.RUNS, route);
    for (InferenceRequest request : asked) {
      assertEquals(Priority.OFFLINE, request.priority());
      assertEquals(Shape.of(3, WIDTH), request.inputs().getFirst().shape());
      assertEquals(3 * WIDTH * Float.BYTES, request.inputs().getFirst().data().byteSize());
      assertEquals(List.of("y"), request.outputs());
    }
    ask(route, TensorType.FP32, 1);
    lookThrough();
    assertAsked(RunsAhead.RUNS, route);
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
    assertAsked(RunsAhead.RUNS, route);
  }

  @Test
  void review_realDevice_whatHasRunCountsAsWhatNobodyAskedFor() throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    AtomicInteger ends = new AtomicInteger();
    behaviour =
        (request, handler) ->
            devices.switcher(1).submit(request, new Forwarding(handler, ends::incrementAndGet));
    for (int run = 1; run <= RunsAhead.RUNS; run++) {
      look(1);
      int wanted = run;
      TestMembers.await(() -> ends.get() == wanted);
      TestMembers.await(() -> devices.switcher(1).memory().weights().isQuiet());
    }
    assertTrue(usesOnTheSecond(route) > Double.NEGATIVE_INFINITY);
    look(1);
    assertEquals(RunsAhead.RUNS, asked.size());
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
    look(RunsAhead.RUNS);
    assertAsked(RunsAhead.RUNS, most);
    assertAsked(0, some);
    look(RunsAhead.RUNS + 1);
    assertAsked(RunsAhead.RUNS, some);
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
    assertEquals(RunsAhead.RUNS, asked.size());
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
    assertAsked(RunsAhead.RUNS, route);
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
    assertAsked(RunsAhead.RUNS, other);
    assertAsked(1, route);
    Route third = ready(1);
    ask(third, TensorType.FP32, 1);
    now++;
    look(RunsAhead.RUNS);
    assertAsked(RunsAhead.RUNS, third);
    assertAsked(1, route);
    lookThrough();
    assertAsked(1 + RunsAhead.RUNS, route);
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
    assertAsked(RunsAhead.RUNS, route);
    ask(refused, TensorType.FP32, 2);
    lookThrough();
    assertAsked(1 + RunsAhead.RUNS, refused);
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
  void review_aSessionThatIsBuiltAnew_runsAgain() throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    lookThrough();
    ImportedModel model = imports.get(routes.indexOf(route));
    devices.switcher(1).deregister(route.version);
    devices.switcher(1).announce(model, ModelOptions.DEFAULT);
    look(1);
    assertAsked(RunsAhead.RUNS, route);
    assertTrue(devices.switcher(1).buildAhead(route.version));
    lookThrough();
    assertAsked(2 * RunsAhead.RUNS, route);
  }

  private static Hold refusing(StatusException failure) {
    return (_, handler) -> {
      handler.failed(failure);
      return Ticket.ENDED;
    };
  }
}
