package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** When and how models run ahead, wherever their sessions are. */
class RunsAheadTest extends RunsAheadFixture {
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
    assertTrue(devices.switcher(1).standing().buildAhead(state.version));
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
    assertTrue(devices.switcher(1).standing().buildAhead(first.version));
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
    behaviour = RunsAheadFixture::answer;
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
    behaviour = RunsAheadFixture::answer;
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
    behaviour = RunsAheadFixture::answer;
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
    assertAsked(RUNS, route);
    assertTrue(devices.switcher(1).standing().buildAhead(route.version));
    lookThrough();
    assertAsked(2 * RUNS, route);
  }
}
