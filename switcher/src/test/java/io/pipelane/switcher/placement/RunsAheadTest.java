package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.TestImports;
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
  private final RunsAhead runs = within(Duration.ofMinutes(1));
  private long now;

  private RunsAhead within(Duration longest) {
    return new RunsAhead(
        devices.all,
        member -> (request, handler) -> take(member, request, handler),
        longest,
        () -> now);
  }

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
    int number = routes.size();
    ImportedModel model =
        TestImports.of(TestModels.chain(2 + number, WIDTH, number), "m" + number, folder);
    devices.all.forEach(member -> member.switcher.announce(model, ModelOptions.DEFAULT));
    Route route =
        new Route(model.version(), List.of(0, 1), keepsState, 2, Duration.ofSeconds(1), now);
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

  @Test
  void review_aSessionThatStandsReady_runsAsOfflineWork_inTheFormThatWasAskedForLast()
      throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    ask(route, TensorType.FP32, 3);
    runs.review(routes, uses);
    assertAsked(RunsAhead.RUNS, route);
    for (InferenceRequest request : asked) {
      assertEquals(Priority.OFFLINE, request.priority());
      assertEquals(Shape.of(3, WIDTH), request.inputs().getFirst().shape());
      assertEquals(3 * WIDTH * Float.BYTES, request.inputs().getFirst().data().byteSize());
      assertEquals(List.of("y"), request.outputs());
    }
    runs.review(routes, uses);
    assertAsked(RunsAhead.RUNS, route);
  }

  @Test
  void review_realDevice_answersAndLeavesNothing() throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    List<InferenceTimings> ends = new ArrayList<>();
    behaviour =
        (request, handler) ->
            devices
                .switcher(1)
                .submit(
                    request,
                    new ResultHandler() {
                      @Override
                      public MemorySegment place(
                          String name, TensorType type, Shape shape, long bytes) {
                        return handler.place(name, type, shape, bytes);
                      }

                      @Override
                      public void completed(InferenceTimings timings) {
                        ends.add(timings);
                        handler.completed(timings);
                      }

                      @Override
                      public void failed(StatusException error) {
                        handler.failed(error);
                      }
                    });
    runs.review(routes, uses);
    assertEquals(RunsAhead.RUNS, ends.size());
  }

  @Test
  void review_oneModelAtATime_theMostUsedFirst_andNoneWithoutUseOrSession() throws IOException {
    Route some = ready(2);
    Route most = ready(5);
    Route unused = ready(0.1);
    Route without = model(9, false);
    routes.forEach(route -> ask(route, TensorType.FP32, 1));
    runs.review(routes, uses);
    assertAsked(RunsAhead.RUNS, most);
    assertAsked(0, some);
    runs.review(routes, uses);
    assertAsked(RunsAhead.RUNS, some);
    runs.review(routes, uses);
    assertAsked(0, unused);
    assertAsked(0, without);
  }

  @Test
  void review_whatNobodyAskedFor_stringsAndStates_areLeft() throws IOException {
    Route _ = ready(2);
    Route strings = ready(2);
    ask(strings, TensorType.BYTES, 1);
    Route state = model(2, true);
    assertTrue(devices.switcher(1).buildAhead(state.version));
    ask(state, TensorType.FP32, 1);
    runs.review(routes, uses);
    runs.review(routes, uses);
    assertEquals(List.of(), asked);
  }

  @Test
  void review_whileOnlineWorkIsThere_runsNothing() throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    Member other = devices.all.get(1);
    other.backlog.came(Priority.ONLINE, 1_000);
    runs.review(routes, uses);
    assertAsked(0, route);
    other.backlog.left(Priority.ONLINE, 1_000);
    runs.review(routes, uses);
    assertAsked(RunsAhead.RUNS, route);
  }

  @Test
  void review_noTimeNow_isTriedAgainAfterARest_andTheRunIsCancelled() throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    RunsAhead brief = within(Duration.ofMillis(1));
    AtomicInteger cancelled = new AtomicInteger();
    behaviour = (_, _) -> cancelled::incrementAndGet;
    brief.review(routes, uses);
    assertAsked(1, route);
    assertEquals(1, cancelled.get());
    behaviour = refusing(Status.UNAVAILABLE);
    now += RunsAhead.REST_NANOS - 1;
    brief.review(routes, uses);
    assertAsked(1, route);
    now++;
    brief.review(routes, uses);
    assertAsked(2, route);
    behaviour = RunsAheadTest::answer;
    now += RunsAhead.REST_NANOS;
    brief.review(routes, uses);
    assertAsked(2 + RunsAhead.RUNS, route);
  }

  @Test
  void review_aModelThatCannotBeRunSo_isLeftAlone_andKeepsNoOtherWaiting() throws IOException {
    Route refused = ready(9);
    Route route = ready(2);
    routes.forEach(each -> ask(each, TensorType.FP32, 1));
    behaviour = refusing(Status.INVALID_ARGUMENT);
    runs.review(routes, uses);
    assertAsked(1, refused);
    behaviour = RunsAheadTest::answer;
    for (int i = 0; i < 3; i++) {
      now += RunsAhead.REST_NANOS;
      runs.review(routes, uses);
    }
    assertAsked(1, refused);
    assertAsked(RunsAhead.RUNS, route);
  }

  @Test
  void review_aSessionThatIsBuiltAnew_runsAgain() throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    runs.review(routes, uses);
    ImportedModel model = imports.get(routes.indexOf(route));
    devices.switcher(1).deregister(route.version);
    devices.switcher(1).announce(model, ModelOptions.DEFAULT);
    runs.review(routes, uses);
    assertAsked(RunsAhead.RUNS, route);
    assertTrue(devices.switcher(1).buildAhead(route.version));
    runs.review(routes, uses);
    assertAsked(2 * RunsAhead.RUNS, route);
  }

  private static Hold refusing(Status status) {
    return (_, handler) -> {
      handler.failed(new StatusException(status, "refused on purpose"));
      return Ticket.ENDED;
    };
  }
}
