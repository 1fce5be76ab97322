package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.PlacementConfig.Routing;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import io.pipelane.switcher.SwitcherSettings;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.sequence.StepBounds;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How often a model is said to be asked for, on two devices. */
@SuppressWarnings("NullAway.Init") // open() fills the fields.
class RoutedRequestTest {
  private static final Duration HALF_LIFE = Duration.ofSeconds(1);

  @TempDir private Path folder;
  private final TestMembers devices = new TestMembers();
  private final Router router =
      new Router(devices.all, Routing.PREDICTED, true, _ -> false, () -> 0);
  private Route route;

  @BeforeEach
  void open() throws Exception {
    ImportedModel model = TestImports.of(TestModels.chain(2, 16, 0), "m", folder);
    for (int index = 0; index < 2; index++) {
      devices.open(
          SwitcherSettings.of(1 << 20, 16 << 20, 1, 1000, 64 << 20, new EqualBytesGrouping(8, 1)),
          each -> new ZeroWeights(each, () -> {}));
      devices.switcher(index).announce(model, ModelOptions.DEFAULT);
    }
    route = new Route(model.version(), List.of(0, 1), false, 2, HALF_LIFE, 0);
  }

  @AfterEach
  void everythingIsGivenBack() {
    devices.close();
  }

  private void submit(InferenceRequest request, Function<Member, Hold> at) {
    new RoutedRequest(router, route, request, new Ignored(), at).submit();
  }

  private InferenceRequest request() {
    return new InferenceRequest(route.version, List.of(), List.of());
  }

  /** As a steady rate would come to in the end. */
  private double asked() {
    return (route.askedPerSecond(0, 0) + route.askedPerSecond(1, 0)) / Math.log(2);
  }

  @Test
  void submit_onlineRequest_countsOnce_offlineOneDoesNot() {
    Hold taking = (_, _) -> Ticket.ENDED;
    submit(request(), _ -> taking);
    assertEquals(1, asked(), 1e-9);
    submit(request().offline(), _ -> taking);
    assertEquals(1, asked(), 1e-9);
  }

  @Test
  void submit_deviceIsLostUnderIt_countsOnce() {
    Hold losing =
        (_, _) -> {
          devices.lose(0);
          throw new StatusException(Status.DEVICE_FAILURE, "it is lost");
        };
    submit(request(), member -> member.index == 0 ? losing : (_, _) -> Ticket.ENDED);
    assertEquals(List.of(1), route.devices());
    assertEquals(1, asked(), 1e-9);
  }

  /** Fails on the first device, which is lost meanwhile; the second one has a fault. */
  private static Hold lostThenFaulty(Member member, Runnable lose) {
    return (_, handler) -> {
      if (member.index == 1) {
        throw new AssertionError("a fault");
      }
      lose.run();
      handler.failed(new StatusException(Status.DEVICE_FAILURE, "it is lost"));
      return Ticket.ENDED;
    };
  }

  @Test
  void submit_faultWhileItIsGivenToAnotherDevice_isToldToTheHandler() {
    Told told = new Told();
    new RoutedRequest(
            router, route, request(), told, member -> lostThenFaulty(member, () -> devices.lose(0)))
        .submit();
    assertEquals(List.of(Status.INTERNAL), told.failures);
  }

  @Test
  void submit_faultWhileASequenceGoesOnOnAnotherDevice_isToldToTheHandler() {
    Route keeping = new Route(route.version, List.of(0, 1), true, 2, HALF_LIFE, 0);
    try (MovingSequences sequences =
        new MovingSequences(router, 1 << 20, new StepBounds(9, 99), () -> 0)) {
      Told told = new Told();
      Ticket _ =
          sequences.submit(
              step(true), told, keeping, member -> lostThenFaulty(member, () -> devices.lose(0)));
      assertEquals(List.of(Status.INTERNAL), told.failures);
    }
  }

  /** A sequence whose steps are made again has one fail behind another that has not. */
  @Test
  void submit_faultBetweenStepsThatAreMadeAgain_isToldToTheHandler() {
    Route keeping = new Route(route.version, List.of(0, 1), true, 2, HALF_LIFE, 0);
    AtomicInteger made = new AtomicInteger();
    try (MovingSequences sequences =
        new MovingSequences(router, 1 << 20, new StepBounds(9, 99), () -> 0)) {
      Told told = new Told();
      for (int step = 0; step < 3; step++) {
        if (step == 2) {
          devices.lose(0);
        }
        Ticket _ =
            sequences.submit(
                step(step == 0),
                told,
                keeping,
                _ ->
                    (_, handler) -> {
                      if (made.incrementAndGet() == 4) {
                        throw new AssertionError("a fault");
                      }
                      handler.completed(new InferenceTimings(0, 0, 1));
                      return Ticket.ENDED;
                    });
      }
      assertEquals(List.of(Status.UNAVAILABLE), told.failures);
    }
  }

  @Test
  void submit_moreStepsThanMayWait_isRefusedUntilOneWaitsNoLonger() {
    Route keeping = new Route(route.version, List.of(0, 1), true, 2, HALF_LIFE, 0);
    Function<Member, Hold> running = _ -> (_, _) -> Ticket.ENDED;
    StepBounds one = new StepBounds(1, 99);
    try (MovingSequences sequences = new MovingSequences(router, 1 << 20, one, () -> 0)) {
      Ticket _ = sequences.submit(step(true), new Ignored(), keeping, running);
      Ticket waits = sequences.submit(step(false), new Ignored(), keeping, running);
      StatusException error =
          assertThrows(
              StatusException.class,
              () -> sequences.submit(step(false), new Ignored(), keeping, running));
      assertEquals(Status.UNAVAILABLE, error.status());
      waits.cancel();
      Ticket _ = sequences.submit(step(false), new Ignored(), keeping, running);
    }
  }

  private InferenceRequest step(boolean start) {
    return new InferenceRequest(
        route.version,
        List.of(),
        List.of(),
        OptionalLong.empty(),
        Priority.ONLINE,
        Optional.of(new SequenceStep("s", start, false)));
  }

  /** Keeps how a request has failed. */
  private static final class Told implements ResultHandler {
    private final List<Status> failures = new ArrayList<>();

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      return MemorySegment.NULL;
    }

    @Override
    public void completed(InferenceTimings timings) {}

    @Override
    public void failed(StatusException error) {
      failures.add(error.status());
    }
  }

  @Test
  void submit_stepsThatAreMadeAgainOnAnotherDevice_countOnceEach() {
    Route keeping = new Route(route.version, List.of(0, 1), true, 2, HALF_LIFE, 0);
    List<Integer> made = new ArrayList<>();
    try (MovingSequences sequences =
        new MovingSequences(router, 1 << 20, new StepBounds(9, 99), () -> 0)) {
      for (int step = 0; step < 4; step++) {
        if (step == 3) {
          devices.lose(0);
        }
        Ticket _ =
            sequences.submit(
                step(step == 0),
                new Ignored(),
                keeping,
                member ->
                    (_, handler) -> {
                      made.add(member.index);
                      handler.completed(new InferenceTimings(0, 0, 1));
                      return Ticket.ENDED;
                    });
      }
    }
    assertEquals(List.of(0, 0, 0, 1, 1, 1, 1), made);
    double steps = keeping.askedPerSecond(0, 0) + keeping.askedPerSecond(1, 0);
    assertEquals(4, steps / Math.log(2), 1e-9);
  }
}
