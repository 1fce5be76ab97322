package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.worker.SessionOverview;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Models that stand ready in several lanes, and on two devices at once. */
class RunsAheadInLanesTest extends RunsAheadFixture {
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
          .forEach(each -> runsIn.merge(each.place().lane().orElseThrow(), 1, Integer::sum));
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
  void review_aRunThatHasAnsweredIsInItsLaneYet_theNextBeginsOnceItHasLeft() throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    AtomicInteger ends = new AtomicInteger();
    AtomicBoolean leaves = new AtomicBoolean();
    seated.get(1).behindAnswers(() -> TestMembers.await(leaves::get));
    behaviour =
        (request, handler) ->
            devices.switcher(1).submit(request, new Forwarding(handler, ends::incrementAndGet));
    look(1);
    TestMembers.await(() -> ends.get() == 1);
    look(2);
    assertAsked(1, route);
    leaves.set(true);
    TestMembers.await(devices.switcher(1)::isIdle);
    look(1);
    TestMembers.await(() -> ends.get() == RUNS && devices.switcher(1).isIdle());
    assertEquals(List.of(RUNS), seated.get(1).runs(route.version));
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
    AtomicInteger ends = new AtomicInteger();
    behaviour =
        (request, handler) ->
            devices
                .switcher(1)
                .submit(request.in(without), new Forwarding(handler, ends::incrementAndGet));
    look(1);
    TestMembers.await(() -> ends.get() == 1 && devices.switcher(1).isIdle());
    look(1);
    assertEquals(built, devices.switcher(1).memory().sessions().built());
    assertAsked(1, route);
    behaviour = RunsAheadFixture::answer;
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
  void review_whatHadNoTimeInOneLane_restsInAll() throws IOException {
    Route route = readyInAllLanes(2);
    ask(route, TensorType.FP32, 1);
    behaviour = refusing(new StatusException(Status.UNAVAILABLE, "not now"));
    look(4);
    assertAsked(1, route);
    now += RunsAhead.REST_NANOS;
    look(4);
    assertAsked(2, route);
  }

  @Test
  void review_triedAgainInAnotherForm_runsAsOftenAsThatTakes() throws IOException {
    Route route = ready(2);
    ask(route, TensorType.FP32, 1);
    behaviour = (_, _) -> Ticket.ENDED;
    look(1);
    now += RunsAhead.LONGEST_NANOS;
    look(1);
    ask(route, TensorType.FP32, 2);
    behaviour = RunsAheadFixture::answer;
    now += RunsAhead.REST_NANOS;
    lookThrough();
    assertAsked(1 + RUNS, route);
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
    assertTrue(devices.switcher(0).standing().buildAhead(second.version));
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
}
