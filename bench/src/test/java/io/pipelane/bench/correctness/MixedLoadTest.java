package io.pipelane.bench.correctness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.bench.process.Readiness;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.loadgen.experiment.LoadRunner;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.settings.Endpoint;
import io.pipelane.loadgen.settings.LoadMode;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.ModelChoice;
import io.pipelane.loadgen.settings.Window;
import io.pipelane.runtime.SharedCache;
import io.pipelane.server.PipelaneServer;
import io.pipelane.switcher.Switcher;
import io.pipelane.switcher.memory.account.Ledger;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Two versions of all demo models from memory for 40 % of their weights: no wrong answer, ever. The
 * versions are alike, so where pages are shared there is memory for half as many.
 */
class MixedLoadTest {
  private static final long SEED = 20_260_114;
  private static final int CLIENTS = 32;
  private static final double POPULARITY = 0.9;
  private static final double MEMORY_SHARE = 0.4;
  private static final long QUIET_LIMIT_NANOS = 30_000_000_000L;

  /**
   * Longer than the slowest model's request waits behind those of faster ones on a machine that has
   * no time: only where nothing goes on does an answer take as long.
   */
  private static final Duration ANSWER_LIMIT = Duration.ofMinutes(2);

  /** What the JVM's own memory may still settle by over the second half of a long run. */
  private static final double FLAT_MEBIBYTES = 16;

  @TempDir private Path folder;

  @ParameterizedTest
  @CsvSource({"800, false", "200, true"})
  @Timeout(300)
  void shouldAnswerRightlyWhileModelsEvictEachOther(int requests, boolean sharePages)
      throws Exception {
    Watcher watcher = load(requests, sharePages);

    assertTrue(watcher.checks() > requests / 10, watcher.checks() + " checks");
  }

  @Test
  @Tag("long")
  @Timeout(1_800)
  void shouldAnswerRightlyAndKeepToItsMemoryOverManyRequests() throws Exception {
    Watcher watcher = load(10_000, false);

    MemoryTrend trend = watcher.secondHalf();
    System.out.println("anonymous memory over the second half: " + trend);
    assertTrue(trend.growthMebibytes() < FLAT_MEBIBYTES, trend + ": " + watcher.samples());
  }

  private Watcher load(int count, boolean sharePages) throws Exception {
    Path repository = folder.resolve("repository");
    Workload workload = new Workload(repository, SEED);
    try (PipelaneServer server = PipelaneServer.start(config(repository, sharePages))) {
      Readiness.await(server);
      Switcher switcher = server.switcher();
      Watcher watcher = new Watcher(switcher);
      LoadReport report;
      try {
        report =
            LoadRunner.run(
                new LoadTest(
                    Endpoint.of(URI.create(server.url())),
                    workload.requests(),
                    new ModelChoice.Zipf(POPULARITY),
                    new LoadMode.Closed(CLIENTS),
                    new Window(Duration.ZERO, Window.MAXIMUM, count, ANSWER_LIMIT, null),
                    SEED,
                    workload::complaint));
      } finally {
        watcher.stop();
      }
      assertTrue(report.isClean(), "seed " + SEED + ": " + report.total().errors());
      assertEquals(count, report.total().answered());
      awaitQuiet(switcher);
      switcher.verify();
      assertTrue(switcher.transfers().pagesTakenBack() > 10, switcher.transfers().toString());
      assertEquals(0, switcher.transfers().failedLoads());
      return watcher;
    }
  }

  private PipelaneConfig config(Path repository, boolean sharePages) {
    int versions = sharePages ? 1 : 2;
    long memory = Math.round(versions * DemoModel.totalByteSize() * MEMORY_SHARE);
    return PipelaneConfig.of(
        Map.of(
            "repository.path",
            repository.toString(),
            "repository.cache",
            SharedCache.folder().toString(),
            "import.concurrency",
            "2",
            "device.memory",
            memory + "B",
            "device.page-size",
            "256KiB",
            "residency.share-pages",
            Boolean.toString(sharePages),
            "server.http-port",
            "0"));
  }

  private static void awaitQuiet(Switcher switcher) {
    long limit = System.nanoTime() + QUIET_LIMIT_NANOS;
    Ledger ledger = switcher.memory().weights();
    while (!ledger.isQuiet()) {
      assertTrue(System.nanoTime() < limit, "not quiet: " + ledger);
      LockSupport.parkNanos(1_000_000);
      ledger = switcher.memory().weights();
    }
  }
}
