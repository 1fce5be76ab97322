package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.process.Signals;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/** A server in a process of its own that is told to stop while it starts its workers. */
@Timeout(120)
class StoppedStartTest {
  /** Has the log of the server and its workers, which stays when a test fails. */
  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path folder;

  private final Patience patience = Patience.begin();
  private @Nullable Process process;
  private long worker;

  private void start(String drainTimeout) throws Exception {
    process =
        ServeProgram.start(
            folder,
            "--server.drain-timeout=" + drainTimeout,
            "--device.kind=cpu",
            "--workers.isolation=process");
    patience.awaitTrue("a worker is started", () -> server().children().findAny().isPresent());
    worker = server().children().findAny().orElseThrow().pid();
    Signals.stop(worker);
  }

  private Process server() {
    return Objects.requireNonNull(process);
  }

  @AfterEach
  void endServer() throws Exception {
    if (process != null) {
      process.destroyForcibly().waitFor();
    }
  }

  private void assertExits(int status) throws Exception {
    assertTrue(server().waitFor(40, TimeUnit.SECONDS), "it ends");
    assertEquals(status, server().exitValue(), () -> "see " + folder);
  }

  private void assertWorkerEnds() throws Exception {
    patience.awaitTrue(
        "the worker ends with it",
        () -> ProcessHandle.of(worker).filter(ProcessHandle::isAlive).isEmpty());
  }

  @Test
  void serve_toldToStopWhileItStarts_givesBackWhatItHasStartedAndExitsWithZero() throws Exception {
    start("30s");
    Signals.send("TERM", server().pid());
    Signals.send("CONT", worker);
    assertExits(0);
    assertWorkerEnds();
  }

  @Test
  void serve_startDoesNotEndInTime_exitsWithOneAndItsWorkerEndsToo() throws Exception {
    start("100ms");
    Signals.send("TERM", server().pid());
    assertExits(1);
    Signals.send("CONT", worker); // It may have been stopped before it could see to that itself.
    assertWorkerEnds();
  }
}
