package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.ForwardingHandler;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.StandingSessions;
import io.pipelane.switcher.SwitcherSettings;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Two devices of the processor with sessions of lanes, and a clock that is set by hand. */
abstract class RunsAheadFixture {
  static final int WIDTH = 16;
  static final int RUNS = 2;

  @TempDir private Path folder;
  final TestMembers devices = new TestMembers();
  final List<SeatedSessions> seated = new ArrayList<>();
  final List<Route> routes = new ArrayList<>();
  final List<ImportedModel> imports = new ArrayList<>();
  final Map<ModelVersion, Double> uses = new HashMap<>();
  final List<InferenceRequest> asked = new ArrayList<>();
  Hold behaviour = RunsAheadFixture::answer;
  long now;

  final RunsAhead runs =
      new RunsAhead(
          devices.all,
          member -> (request, handler) -> take(member, request, handler),
          RUNS,
          () -> now);

  Ticket take(Member member, InferenceRequest request, ResultHandler handler) {
    assertEquals(1, member.index, "it is at home on the first device");
    asked.add(request);
    return behaviour.submit(request, handler);
  }

  static Ticket answer(InferenceRequest request, ResultHandler handler) {
    handler.completed(new InferenceTimings(0, 0, 1));
    return Ticket.ENDED;
  }

  @BeforeEach
  void openDevices() {
    for (int i = 0; i < 2; i++) {
      seated.add(
          devices.openSeated(
              SwitcherSettings.of(
                  1 << 20, 64 << 20, 2, 1000, 64 << 20, new EqualBytesGrouping(8, 1)),
              model -> new ZeroWeights(model, () -> {})));
    }
  }

  @AfterEach
  void everythingIsGivenBack() {
    devices.close();
  }

  /** A model at home on the first device, asked for so often. */
  Route model(double asked, boolean keepsState) throws IOException {
    return model(asked, keepsState, 2 + routes.size(), 0);
  }

  /** One of variants of one structure. */
  Route variant(int home) throws IOException {
    return model(2, false, 2, home);
  }

  Route model(double asked, boolean keepsState, int layers, int home) throws IOException {
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
  Route ready(double asked) throws IOException {
    Route route = model(asked, false);
    assertTrue(devices.switcher(1).standing().buildAhead(route.version));
    return route;
  }

  /** One whose sessions stand ready in all lanes of the second device. */
  Route readyInAllLanes(double asked) throws IOException {
    Route route = ready(asked);
    StandingSessions standing = devices.switcher(1).standing();
    while (standing.count(route.version) < standing.most()) {
      assertTrue(standing.buildInAnotherLane(route.version));
    }
    assertTrue(standing.most() > 1);
    return route;
  }

  static void ask(Route route, TensorType type, int rows) {
    InputTensor x =
        new InputTensor(
            "x",
            type,
            Shape.of(rows, WIDTH),
            Arena.ofAuto().allocate((long) rows * WIDTH * Float.BYTES));
    route.askedAs(new InferenceRequest(route.version, List.of(x), List.of("y")));
  }

  void assertAsked(int times, Route route) {
    assertEquals(times, asked.stream().filter(each -> each.model().equals(route.version)).count());
  }

  void look(int times) {
    for (int i = 0; i < times; i++) {
      runs.review(routes, uses);
    }
  }

  /** As many looks as all runs of one model take, and one to see that there are no more. */
  void lookThrough() {
    look(RUNS + 2);
  }

  double usesOnTheSecond(Route route) {
    return devices
        .switcher(1)
        .appraisal()
        .uses()
        .getOrDefault(route.version, Double.NEGATIVE_INFINITY);
  }

  /** Tells of the end, too. */
  record Forwarding(ResultHandler handler, Runnable end) implements ForwardingHandler {
    @Override
    public void completed(InferenceTimings timings) {
      handler.completed(timings);
      end.run();
    }

    @Override
    public void failed(StatusException error) {
      handler.failed(error);
      end.run();
    }
  }

  static Hold refusing(StatusException failure) {
    return (_, handler) -> {
      handler.failed(failure);
      return Ticket.ENDED;
    };
  }
}
