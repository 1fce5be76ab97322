package io.pipelane.loadgen.drive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.loadgen.result.ClientCpu;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.settings.ArrivalPattern;
import io.pipelane.loadgen.settings.Endpoint;
import io.pipelane.loadgen.settings.LoadMode;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.ModelChoice;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.PreparedRequest;
import io.pipelane.loadgen.settings.ResponseCheck;
import io.pipelane.loadgen.settings.Window;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A server that answers within a millisecond, but not at all for one second out of ten. */
class StallTest {
  private static final double SERVICE_MILLIS = 1;
  private static final double STALL_MILLIS = 1_000;
  private static final double PERIOD_MILLIS = 10_000;

  private final VirtualTimeline timeline = new VirtualTimeline();
  private final long start = timeline.nanoTime();

  @Test
  void shouldReportTheAnalyticPercentilesInAnOpenLoop() {
    LoadReport report = run(new LoadMode.Open(new ArrivalPattern.Poisson(1000), 2000));

    for (double percentile : new double[] {95, 99, 99.5}) {
      double expected = analyticMillis(percentile);
      double measured = report.total().responseNanos().getValueAtPercentile(percentile) / 1e6;
      assertEquals(expected, measured, 0.05 * expected, "p" + percentile);
    }
    assertEquals(List.of(), report.bottlenecks());
  }

  @Test
  void shouldReportThemAlsoWhenAllConnectionsAreBusy() {
    LoadReport report = run(new LoadMode.Open(new ArrivalPattern.Poisson(1000), 32));

    double measured = report.total().responseNanos().getValueAtPercentile(99) / 1e6;
    double sentLate = report.total().serviceNanos().getValueAtPercentile(99) / 1e6;
    assertEquals(analyticMillis(99), measured, 0.05 * analyticMillis(99));
    assertTrue(sentLate < 5, "timed from when they were sent: " + sentLate);
  }

  /** What coordinated omission hides: the one request that waits stands for a thousand. */
  @Test
  void shouldHideTheStallInAClosedLoop() {
    LoadReport report = run(new LoadMode.Closed(1));

    double hidden = report.total().responseNanos().getValueAtPercentile(99) / 1e6;
    assertEquals(SERVICE_MILLIS, hidden, 0.01 * SERVICE_MILLIS);
  }

  @Test
  void shouldShowTheStallOverTime() {
    LoadReport report = run(new LoadMode.Open(new ArrivalPattern.Poisson(1000), 2000));

    int stalled =
        report.slices().stream()
            .filter(slice -> slice.responseNanos().getMaxValue() > 500_000_000)
            .toList()
            .size();
    assertEquals(report.slices().size() / 10.0, stalled, 0.05 * report.slices().size());
  }

  /** Of all requests, a share of {@code (stall - t) / period} takes longer than a time t. */
  private static double analyticMillis(double percentile) {
    return STALL_MILLIS - (100 - percentile) / 100 * PERIOD_MILLIS + SERVICE_MILLIS;
  }

  private LoadReport run(LoadMode mode) {
    LoadTest test =
        new LoadTest(
            Endpoint.of(URI.create("http://server")),
            List.of(ModelRequests.infer("m", List.of(PreparedRequest.json(new byte[0])))),
            new ModelChoice.Uniform(),
            mode,
            Window.lasting(Duration.ZERO, Duration.ofSeconds(100)),
            3,
            ResponseCheck.NONE);
    VirtualServer server = new VirtualServer(timeline, _ -> VirtualServer.ok(delayNanos()));
    LoadRun run = new LoadRun(test, timeline, server, () -> ClientCpu.NONE);
    run.start();
    timeline.runUntil(() -> run.report().isDone());
    return run.report().join();
  }

  private long delayNanos() {
    double phaseMillis = (timeline.nanoTime() - start) / 1e6 % PERIOD_MILLIS;
    double stallMillis = Math.max(0, phaseMillis + STALL_MILLIS - PERIOD_MILLIS);
    double restMillis = stallMillis > 0 ? PERIOD_MILLIS - phaseMillis : 0;
    return Math.round((restMillis + SERVICE_MILLIS) * 1e6);
  }
}
