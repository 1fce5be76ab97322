package io.pipelane.loadgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.BufferedReader;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What ends a real process. */
@Timeout(60)
class SignalInterruptTest {
  private static final int TERMINATED = 143;

  private final StubModel model = new StubModel();
  private final CountDownLatch asked = new CountDownLatch(1);
  private final CountDownLatch answering = new CountDownLatch(1);

  /** A server that takes its time for the first inference. */
  private Optional<String> serve(ScriptedServer.Request request) {
    if (request.startLine().contains("/infer")) {
      asked.countDown();
      try {
        answering.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
    return model.serve(request);
  }

  @Test
  void signal_first_endsWithTheReport() throws Exception {
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      Process loadgen = start(server);
      try (BufferedReader said = interrupted(loadgen)) {
        answering.countDown();
        assertSaid("exit status 99", said);
        assertEquals(TERMINATED, loadgen.waitFor());
      } finally {
        loadgen.destroyForcibly();
      }
    }
  }

  @Test
  void signal_second_endsAtOnce() throws Exception {
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      Process loadgen = start(server);
      try (BufferedReader _ = interrupted(loadgen)) {
        loadgen.toHandle().destroy();
        assertEquals(TERMINATED, loadgen.waitFor());
      } finally {
        loadgen.destroyForcibly();
      }
    } finally {
      answering.countDown();
    }
  }

  /** Sends the first signal while a request waits for its answer; the program has it then. */
  private BufferedReader interrupted(Process loadgen) throws Exception {
    asked.await();
    loadgen.toHandle().destroy();
    BufferedReader said = loadgen.inputReader();
    assertSaid("ending early", said);
    return said;
  }

  private static Process start(ScriptedServer server) throws Exception {
    String arguments = "-m m --concurrency 1 --duration 1h --warmup 0s --timeout 1h -u ";
    ProcessBuilder builder =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            Loadgen.class.getName());
    builder.command().addAll(List.of((arguments + server.url()).split(" ", -1)));
    return builder.redirectErrorStream(true).start();
  }

  private static void assertSaid(String text, BufferedReader said) throws Exception {
    StringBuilder all = new StringBuilder();
    for (String line = said.readLine(); line != null; line = said.readLine()) {
      all.append(line).append('\n');
      if (line.contains(text)) {
        return;
      }
    }
    fail("not said: " + text + " in\n" + all);
  }
}
