package io.pipelane.loadgen.drive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.drive.VirtualServer.Behaviour;
import io.pipelane.loadgen.result.ClientCpu;
import io.pipelane.loadgen.result.ErrorCount;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.StabilityReport;
import io.pipelane.loadgen.settings.ArrivalPattern;
import io.pipelane.loadgen.settings.Endpoint;
import io.pipelane.loadgen.settings.LoadMode;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.ModelChoice;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.PreparedRequest;
import io.pipelane.loadgen.settings.ResponseCheck;
import io.pipelane.loadgen.settings.Span;
import io.pipelane.loadgen.settings.Stability;
import io.pipelane.loadgen.settings.Trace;
import io.pipelane.loadgen.settings.Window;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class LoadRunTest {
  private static final long MILLI = 1_000_000;
  private static final Window TEN_SECONDS = Window.lasting(Duration.ZERO, Duration.ofSeconds(10));

  private final VirtualTimeline timeline = new VirtualTimeline();

  @Test
  void shouldLookStalledInAnOpenLoopWhenTheServerStallsOnce() {
    Behaviour stallsOnce = request -> VirtualServer.ok(request == 100 ? 1000 * MILLI : MILLI);

    LoadReport report = run(open(100, 1), TEN_SECONDS, stallsOnce);

    Histogram expected = new Histogram(100, Duration.ofHours(1).toNanos(), 3);
    long wait = 0;
    int late = 0;
    for (int request = 0; request < 1000; request++) {
      long service = request == 100 ? 1000 * MILLI : MILLI;
      expected.recordValue(wait + service);
      late += wait > MILLI ? 1 : 0;
      wait = Math.max(0, wait + service - 10 * MILLI);
    }
    assertEquals(expected, report.total().responseNanos());
    assertEquals(1000, report.total().answered());
    assertEquals(late, report.sends().late());
    assertEquals(0, report.sends().lateByGenerator());
    assertMillis(1000, report.total().responseNanos().getMaxValue());
    assertMillis(1, report.total().serviceNanos().getValueAtPercentile(99));
    assertTrue(report.warnings().getFirst().contains("waited"), report.warnings().toString());
  }

  @Test
  void shouldSendAsFastAsAnswersComeInAClosedLoop() {
    LoadReport report = run(new LoadMode.Closed(4), TEN_SECONDS, _ -> VirtualServer.ok(2 * MILLI));

    assertEquals(20_000, report.total().answered());
    assertEquals(2000, report.total().perSecond(), 1);
    assertMillis(2, report.total().responseNanos().getMaxValue());
    assertEquals(Duration.ofSeconds(10), report.window());
    assertTrue(report.isClean());
    assertEquals(List.of(), report.bottlenecks());
    assertEquals(List.of(), report.warnings());
  }

  @Test
  void shouldMeasureOnlyTheWindowWhenThereIsAWarmup() {
    Window window = Window.lasting(Duration.ofSeconds(1), Duration.ofSeconds(2));

    LoadReport report =
        run(
            open(100, 10),
            window,
            request -> VirtualServer.ok(request < 100 ? 900 * MILLI : MILLI));

    assertEquals(200, report.total().answered());
    assertMillis(1, report.total().serviceNanos().getMaxValue());
  }

  @Test
  void shouldCountTheAnswerToTheLastRequestHoweverLateItComes() {
    LoadReport report =
        run(
            open(10, 1),
            TEN_SECONDS,
            request -> VirtualServer.ok(request == 99 ? 20_000 * MILLI : 0));

    assertEquals(100, report.total().answered());
    assertEquals(9.9, report.total().perSecond(), 0.001);
    assertMillis(20_000, report.total().responseNanos().getMaxValue());
  }

  @Test
  void shouldBlameTheGeneratorWhenItsTimersAreLate() {
    VirtualTimeline late = new VirtualTimeline(3 * MILLI);

    LoadReport report = run(late, open(100, 4), TEN_SECONDS, _ -> VirtualServer.ok(0));

    assertTrue(report.sends().lateByGenerator() > 900, report.sends().toString());
    assertMillis(6, report.total().responseNanos().getMaxValue());
    assertTrue(report.bottlenecks().getFirst().contains("over 1 ms late"), report.toString());
    assertTrue(report.pauses().count() > 500, report.pauses().toString());
    assertMillis(3, report.lagNanos().getMaxValue());
  }

  @Test
  void shouldStopAtTheRequestLimit() {
    LoadReport report =
        run(new LoadMode.Closed(3), Window.ofRequests(1000), _ -> VirtualServer.ok(3 * MILLI));

    assertEquals(1000, report.total().answered());
    assertEquals(1000, report.sends().sent());
    assertEquals(Duration.ofMillis(3 * 334), report.window());
  }

  @Test
  void shouldCountErrorsByKindWithTheFirstMessage() {
    Behaviour behaviour =
        request ->
            request % 4 == 1
                ? new VirtualServer.Answer(MILLI, 503, "{\"error\":\"full " + request + "\"}\n")
                : request % 4 == 2 ? new VirtualServer.Loss(MILLI) : VirtualServer.ok(MILLI);

    LoadReport report = run(new LoadMode.Closed(1), Window.ofRequests(100), behaviour);

    assertEquals(
        List.of(
            new ErrorCount("HTTP 503", 25, "{\"error\":\"full 1\"}"),
            new ErrorCount("connection lost", 25, "gone")),
        report.models().getFirst().errors());
    assertEquals(50, report.total().answered());
    assertEquals(25, report.sends().reconnects());
    assertFalse(report.isClean());
  }

  @Test
  void shouldCountFailedConnectsByThemselvesAsNoRequestIsLostByOne() {
    VirtualServer server =
        new VirtualServer(
            timeline,
            request ->
                request == 5 ? new VirtualServer.LastAnswer(MILLI) : VirtualServer.ok(MILLI));
    server.refusals = 3;

    LoadReport report =
        run(timeline, test(new LoadMode.Closed(1), Window.ofRequests(10), 1), server);

    assertEquals(10, report.total().answered());
    assertEquals(0, report.total().errorCount());
    assertEquals(3, report.sends().failedConnects());
    assertFalse(report.isClean());
    assertTrue(report.warnings().getFirst().contains("nobody listens"), report.toString());
  }

  @Test
  void shouldGiveUpARequestThatIsNotAnswered() {
    VirtualServer server =
        new VirtualServer(
            timeline, request -> request == 5 ? new VirtualServer.Silence() : VirtualServer.ok(0));
    Window window =
        new Window(Duration.ZERO, Duration.ofSeconds(9), 10, Duration.ofSeconds(1), null);

    LoadReport report = run(timeline, test(new LoadMode.Closed(1), window, 1), server);

    assertEquals("no answer", report.total().errors().getFirst().kind());
    assertEquals(9, report.total().answered());
    assertEquals(2, server.opened);
  }

  @Test
  void shouldCountRequestsThatNeverFoundAConnection() {
    Window window =
        new Window(
            Duration.ZERO, Duration.ofSeconds(1), Long.MAX_VALUE, Duration.ofSeconds(1), null);

    LoadReport report = run(open(100, 2), window, _ -> new VirtualServer.Silence());

    assertEquals(100, report.sends().sent() + report.sends().unsent());
    assertEquals(100, report.total().errorCount());
    assertTrue(report.sends().unsent() > 90, report.sends().toString());
  }

  @Test
  void shouldGiveUpWhenTheServerLeavesConnectionsUnanswered() {
    VirtualServer server = new VirtualServer(timeline, _ -> VirtualServer.ok(0));
    server.mostReady = 3;
    LoadTest test = test(new LoadMode.Closed(4), TEN_SECONDS, 1);

    CompletionException refused =
        assertThrows(CompletionException.class, () -> run(timeline, test, server));

    assertEquals(
        Status.UNAVAILABLE, assertInstanceOf(StatusException.class, refused.getCause()).status());
    assertTrue(refused.toString().contains("3 of 4 connections"), refused.toString());
  }

  @Test
  void shouldCountComplaintsOfTheCheckAsErrors() {
    LoadTest plain = test(new LoadMode.Closed(1), Window.ofRequests(10), 1);
    ResponseCheck check =
        response -> {
          if (response.request() == 7) {
            throw new IllegalStateException("bug");
          }
          return response.request() == 3 ? Optional.of("wrong") : Optional.empty();
        };
    LoadTest checked =
        new LoadTest(
            plain.endpoint(),
            plain.models(),
            plain.choice(),
            plain.mode(),
            plain.window(),
            1,
            check);

    LoadReport report =
        run(timeline, checked, new VirtualServer(timeline, _ -> VirtualServer.ok(1)));

    assertEquals(List.of(new ErrorCount("wrong answer", 2, "wrong")), report.total().errors());
  }

  @Test
  void shouldAskModelsByTheirSharesAndTheSameOnesForTheSameSeed() {
    VirtualServer first = new VirtualServer(timeline, _ -> VirtualServer.ok(1));
    LoadTest test = test(new LoadMode.Closed(1), Window.ofRequests(2000), 3);
    LoadReport report = run(timeline, test, first);
    VirtualTimeline again = new VirtualTimeline();
    VirtualServer second = new VirtualServer(again, _ -> VirtualServer.ok(1));
    run(again, test, second);

    assertEquals(first.modelsAsked, second.modelsAsked);
    for (int model = 0; model < 3; model++) {
      int index = model;
      long asked = first.modelsAsked.stream().filter(m -> m == index).count();
      assertEquals(asked, report.models().get(model).answered());
    }
  }

  @Test
  void shouldEndWhenThreeWindowsAgree() {
    LoadReport report =
        run(
            new LoadMode.Closed(1),
            stable(10),
            request -> VirtualServer.ok(request < 250 ? 10 * MILLI : 2 * MILLI));

    assertEquals(new StabilityReport(true, 6), report.stability());
    assertEquals(Duration.ofSeconds(3), report.window());
    assertEquals(1500, report.total().answered());
    assertEquals(500, report.total().perSecond(), 1);
    assertMillis(2, report.total().responseNanos().getMaxValue());
  }

  @Test
  void shouldSayThatItIsUnstableWhenLatencyKeepsRising() {
    LoadReport report =
        run(
            new LoadMode.Closed(1),
            stable(5),
            request -> VirtualServer.ok(MILLI + request * MILLI));

    assertEquals(new StabilityReport(false, 5), report.stability());
    assertFalse(report.isStable());
    assertEquals(Duration.ofSeconds(3), report.window());
  }

  /** Windows of 50 answers, of which the first take five times as long. */
  @Test
  void shouldEndWindowsByNumberWhenTheyHaveOne() {
    LoadReport report =
        run(
            new LoadMode.Closed(1),
            counted(Span.Time.NONE, 50, 10),
            request -> VirtualServer.ok(request < 100 ? 10 * MILLI : 2 * MILLI));

    assertEquals(new StabilityReport(true, 5), report.stability());
    assertEquals(150, report.total().answered());
    assertEquals(Duration.ofMillis(300), report.window());
    assertEquals(500, report.total().perSecond(), 4);
    assertMillis(2, report.total().responseNanos().getMaxValue());
  }

  @Test
  void shouldSayThatItIsUnstableWhenWindowsByNumberTakeLongerAndLonger() {
    LoadReport report =
        run(
            new LoadMode.Closed(2),
            counted(Span.Time.NONE, 20, 4),
            request -> VirtualServer.ok(MILLI + request * MILLI));

    assertEquals(new StabilityReport(false, 4), report.stability());
    assertEquals(60.0, (double) report.total().answered(), 2);
  }

  /** Without that a server that has gone would be waited for till the end of time. */
  @Test
  void shouldEndWindowsByNumberAlsoWhenNothingIsAnswered() {
    LoadReport report =
        run(open(100, 4), counted(new Span.Requests(5), 10, 3), _ -> new VirtualServer.Loss(MILLI));

    assertEquals(new StabilityReport(false, 3), report.stability());
    assertEquals(0, report.total().answered());
    assertEquals(30.0, (double) report.total().errorCount(), 1);
  }

  @Test
  void shouldBeginToMeasureBehindANumberOfRequests() {
    Window window =
        new Window(
            new Span.Requests(100),
            new Span.Time(Duration.ofSeconds(2)),
            Long.MAX_VALUE,
            Duration.ofSeconds(30),
            null);

    LoadReport report =
        run(
            new LoadMode.Closed(1),
            window,
            request -> VirtualServer.ok(request < 100 ? 900 * MILLI : MILLI));

    assertEquals(Duration.ofSeconds(2), report.window());
    assertEquals(2000, report.total().answered());
    assertMillis(1, report.total().responseNanos().getMaxValue());
  }

  @Test
  void shouldNeverAskTheSameModelTwiceInASwitchStorm() {
    VirtualServer server = new VirtualServer(timeline, _ -> VirtualServer.ok(1));
    LoadTest plain = test(new LoadMode.Closed(1), Window.ofRequests(9), 3);
    LoadTest storm =
        new LoadTest(
            plain.endpoint(),
            plain.models(),
            new ModelChoice.SwitchStorm(),
            plain.mode(),
            plain.window(),
            1,
            plain.check());

    run(timeline, storm, server);

    assertEquals(List.of(0, 1, 2, 0, 1, 2, 0, 1, 2), server.modelsAsked);
  }

  @Test
  void shouldReplayATraceExactly() {
    VirtualServer server = new VirtualServer(timeline, _ -> VirtualServer.ok(MILLI));
    Trace trace =
        new Trace(
            new long[] {0, 5 * MILLI, 5 * MILLI, 900 * MILLI}, new int[] {1, 0, 2, 1}, new int[4]);
    LoadMode mode = new LoadMode.Open(new ArrivalPattern.Replay(trace), 4);

    LoadReport report = run(timeline, test(mode, TEN_SECONDS, 3), server);

    assertEquals(List.of(1, 0, 2, 1), server.modelsAsked);
    assertEquals(4, report.total().answered());
    assertEquals(0, report.sends().late());
  }

  @Test
  void shouldReportWhatWasMeasuredWhenItIsEndedEarly() {
    LoadRun run = prepare(open(100, 10), TEN_SECONDS, _ -> VirtualServer.ok(50 * MILLI));
    timeline.at(timeline.nanoTime() + 2000 * MILLI, run::end);

    LoadReport report = report(run);

    assertEquals(Duration.ofSeconds(2), report.window());
    assertEquals(200, report.sends().sent());
    assertEquals(200, report.total().answered());
    assertEquals(195 / 2.0, report.total().perSecond(), 0.01);
    assertMillis(50, report.total().responseNanos().getMaxValue());
  }

  @Test
  void shouldCallItUnstableWhenItIsEndedBetweenItsWindows() {
    LoadRun run = prepare(new LoadMode.Closed(1), stable(10), _ -> VirtualServer.ok(MILLI));
    timeline.at(timeline.nanoTime() + 1500 * MILLI, run::end);

    LoadReport report = report(run);

    assertEquals(new StabilityReport(false, 2), report.stability());
    assertEquals(Duration.ofMillis(1500), report.window());
  }

  @Test
  void shouldSayThatNothingIsMeasuredWhenItIsEndedInItsWarmup() {
    Window window = Window.lasting(Duration.ofSeconds(1), Duration.ofSeconds(2));
    LoadRun run = prepare(open(100, 10), window, _ -> VirtualServer.ok(MILLI));
    timeline.at(timeline.nanoTime() + 500 * MILLI, run::end);

    CompletionException failure = assertThrows(CompletionException.class, () -> report(run));

    StatusException cause = assertInstanceOf(StatusException.class, failure.getCause());
    assertEquals(Status.CANCELLED, cause.status());
  }

  private LoadRun prepare(LoadMode mode, Window window, Behaviour behaviour) {
    VirtualServer server = new VirtualServer(timeline, behaviour);
    return new LoadRun(test(mode, window, 1), timeline, server, () -> ClientCpu.NONE);
  }

  private LoadReport report(LoadRun run) {
    run.start();
    timeline.runUntil(() -> run.report().isDone());
    return run.report().join();
  }

  private static Window counted(Span warmup, long requests, int maximumWindows) {
    return new Window(
        warmup,
        new Span.Requests(requests),
        Long.MAX_VALUE,
        Duration.ofSeconds(30),
        new Stability(0.1, maximumWindows, 0));
  }

  private static Window stable(int maximumWindows) {
    return new Window(
        Duration.ZERO,
        Duration.ofSeconds(1),
        Long.MAX_VALUE,
        Duration.ofSeconds(30),
        new Stability(0.1, maximumWindows, 0));
  }

  private LoadReport run(LoadMode mode, Window window, Behaviour behaviour) {
    return run(timeline, mode, window, behaviour);
  }

  private static LoadReport run(
      VirtualTimeline timeline, LoadMode mode, Window window, Behaviour behaviour) {
    return run(timeline, test(mode, window, 1), new VirtualServer(timeline, behaviour));
  }

  private static LoadReport run(VirtualTimeline timeline, LoadTest test, VirtualServer server) {
    LoadRun run = new LoadRun(test, timeline, server, () -> ClientCpu.NONE);
    run.start();
    timeline.runUntil(() -> run.report().isDone());
    return run.report().join();
  }

  private static LoadMode open(double rate, int connections) {
    return new LoadMode.Open(new ArrivalPattern.Constant(rate), connections);
  }

  private static LoadTest test(LoadMode mode, Window window, int models) {
    PreparedRequest request = PreparedRequest.json(new byte[0]);
    return new LoadTest(
        Endpoint.of(URI.create("http://server")),
        IntStream.range(0, models)
            .mapToObj(i -> ModelRequests.infer("m" + i, List.of(request)))
            .toList(),
        new ModelChoice.Zipf(0.9),
        mode,
        window,
        42,
        ResponseCheck.NONE);
  }

  private static void assertMillis(double expected, long nanos) {
    assertEquals(expected, nanos / 1e6, expected * 0.002);
  }
}
