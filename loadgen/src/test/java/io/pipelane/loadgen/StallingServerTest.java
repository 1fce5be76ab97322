package io.pipelane.loadgen;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.loadgen.experiment.LoadRunner;
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
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Real sockets and real time: a server that stands still for a tenth of every second. */
@Timeout(60)
class StallingServerTest {
  private static final long PERIOD_NANOS = 1_000_000_000;
  private static final long STALL_NANOS = 100_000_000;

  /** One request in a hundred comes in the first hundredth of the period. */
  private static final double P99_MILLIS = (STALL_NANOS - PERIOD_NANOS / 100) / 1e6;

  /** Stalls within two seconds are three at most; some more may be a busy machine's. */
  private static final long MOST_SLOW = 3 + 7;

  private final long origin = System.nanoTime();

  /** That it is not more either is {@code StallTest}'s, in time that nobody else takes. */
  @Test
  void run_openLoop_p99ShowsTheStall() throws Exception {
    LoadReport report = run(new LoadMode.Open(new ArrivalPattern.Constant(500), 64));

    double p99 = report.total().responseNanos().getValueAtPercentile(99) / 1e6;
    assertTrue(p99 > 0.95 * P99_MILLIS, "p99 " + p99 + " ms");
  }

  /** It asks once a stall, where the open loop asks fifty times; how soon else is the machine's. */
  @Test
  void run_closedLoop_fewRequestsSeeTheStall() throws Exception {
    LoadReport report = run(new LoadMode.Closed(1));

    Histogram nanos = report.total().responseNanos();
    assertTrue(nanos.getMaxValue() > STALL_NANOS * 0.9);
    long slow = nanos.getCountBetweenValues(STALL_NANOS / 2, nanos.getMaxValue());
    assertTrue(slow <= MOST_SLOW, slow + " of " + nanos.getTotalCount() + " requests were slow");
  }

  private LoadReport run(LoadMode mode) throws IOException, InterruptedException {
    PreparedRequest request = PreparedRequest.json("{}".getBytes(StandardCharsets.UTF_8));
    try (ScriptedServer server = new ScriptedServer(_ -> answer())) {
      return LoadRunner.run(
          new LoadTest(
              Endpoint.of(server.url()),
              List.of(ModelRequests.infer("m", List.of(request))),
              new ModelChoice.Uniform(),
              mode,
              Window.lasting(Duration.ofMillis(500), Duration.ofSeconds(2)),
              1,
              ResponseCheck.NONE));
    }
  }

  private Optional<String> answer() {
    long phase = (System.nanoTime() - origin) % PERIOD_NANOS;
    long end = System.nanoTime() + STALL_NANOS - phase;
    while (end > System.nanoTime()) {
      LockSupport.parkNanos(end - System.nanoTime());
    }
    return ScriptedServer.answer(200, "", "{}");
  }
}
