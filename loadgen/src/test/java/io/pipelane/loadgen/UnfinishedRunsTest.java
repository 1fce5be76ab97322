package io.pipelane.loadgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What was measured outlasts a server that does not. */
@Timeout(60)
class UnfinishedRunsTest {
  private static final int REQUESTS = 5;

  @TempDir private Path folder;
  private final Console console = new Console();

  @ParameterizedTest
  @ValueSource(strings = {"--concurrency-range 1:2:1", "--concurrency 1 --runs 2"})
  void sweep_serverGoesBehindTheFirstRun_theFirstRunIsKept(String load) throws Exception {
    Path json = folder.resolve("r.json");
    Path csv = folder.resolve("r.csv");
    try (LeavingServer server = new LeavingServer()) {
      ExitStatus status =
          console.loadgen(
              "-m m -u %s %s --request-count %d --warmup 0s --json %s -f %s"
                  .formatted(server.url(), load, REQUESTS, json, csv));

      assertEquals(ExitStatus.OTHER, status, console::toString);
    }
    JsonNode result = read(json);
    assertEquals(1, result.path("steps").size());
    assertEquals(1, result.at("/steps/0/runs").size());
    assertEquals(REQUESTS, result.at("/steps/0/runs/0/total/answered").asLong());
    assertTrue(
        result.at("/failures/0/reason").asText().contains("cannot connect"), result::toString);
    assertSaid(console.err.toString(), "could not be measured: cannot connect");
    assertEquals(2, Files.readAllLines(csv).size());
  }

  @Test
  void sweep_serverGoneFromTheStart_nothingIsWritten() throws Exception {
    Path json = folder.resolve("r.json");
    try (LeavingServer server = new LeavingServer()) {
      server.scripted.stopAccepting();

      assertEquals(
          ExitStatus.OTHER,
          console.loadgen("-m m --concurrency 1 -u %s --json %s".formatted(server.url(), json)));
    }
    assertTrue(Files.notExists(json));
  }

  @Test
  void compare_serverGoesBehindItsFirstRound_allOtherRoundsAreKept() throws Exception {
    Path html = folder.resolve("r.html");
    try (ScriptedServer stays = new ScriptedServer(new StubModel()::serve);
        LeavingServer goes = new LeavingServer()) {
      ExitStatus status =
          console.run(
              new CompareCommand(),
              "-m m --concurrency 1 --request-count %d --warmup 0s --rounds 3 --json %s --html %s"
                      .formatted(REQUESTS, folder, html)
                  + " %s %s".formatted(stays.url(), goes.url()));

      assertEquals(ExitStatus.OTHER, status, console::toString);
      for (int round = 2; round <= 3; round++) {
        assertSaid(
            console.err.toString(),
            "round %d of %s, closed loop, 1 connection, could not be measured: cannot connect"
                .formatted(round, goes.url()));
      }
    }
    JsonNode stayed = read(folder.resolve("1.json"));
    JsonNode gone = read(folder.resolve("2.json"));
    assertEquals(3, stayed.at("/steps/0/runs").size());
    assertEquals(0, stayed.path("failures").size());
    assertEquals(1, gone.at("/steps/0/runs").size());
    assertEquals(2, gone.path("failures").size());
    assertSaid(console.out.toString(), "NOT EVERY ROUND");
    assertSaid(console.out.toString(), "answers/s");
    assertSaid(Files.readString(html), "cannot connect");
  }

  @Test
  void sweep_interrupted_whatWasMeasuredIsKept() throws Exception {
    Path json = folder.resolve("r.json");
    try (ScriptedServer server = interruptedAt(REQUESTS)) {
      ExitStatus status =
          console.loadgen(
              "-m m -u %s --concurrency-range 1:2:1 --duration 1h --warmup 0s --json %s"
                  .formatted(server.url(), json));

      assertEquals(ExitStatus.OTHER, status, console::toString);
    }
    JsonNode result = read(json);
    assertEquals(1, result.path("steps").size());
    assertTrue(result.at("/steps/0/runs/0/total/answered").asLong() >= REQUESTS, result::toString);
    assertTrue(result.at("/failures/0/reason").asText().contains("interrupted"), result::toString);
    assertSaid(console.out.toString(), "response");
  }

  @Test
  void compare_interruptedInTheFirstRound_itIsKeptAndTheOthersAreNotBegun() throws Exception {
    StubModel other = new StubModel();
    try (ScriptedServer first = interruptedAt(REQUESTS);
        ScriptedServer second = new ScriptedServer(other::serve)) {
      ExitStatus status =
          console.run(
              new CompareCommand(),
              "-m m --concurrency 1 --duration 1h --warmup 0s --rounds 3 --json %s %s %s"
                  .formatted(folder, first.url(), second.url()));

      assertEquals(ExitStatus.OTHER, status, console::toString);
    }
    assertEquals(1, read(folder.resolve("1.json")).at("/steps/0/runs").size());
    assertEquals(0, other.inferences.get());
  }

  /** Its only request was meant to leave while the server was warming up. */
  @Test
  void run_serverThatNeverAnswers_isNotSaidToHaveAnsweredAll() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    StubModel model = new StubModel();
    try (ScriptedServer server =
        new ScriptedServer(
            request -> {
              if (request.startLine().contains("/infer")) {
                await(never);
              }
              return model.serve(request);
            })) {
      ExitStatus status =
          console.loadgen(
              "-m m -u %s --concurrency 1 --warmup 50ms --duration 50ms --timeout 500ms"
                  .formatted(server.url()));

      assertEquals(ExitStatus.OTHER, status, console::toString);
    } finally {
      never.countDown();
    }
    assertSaid(console.out.toString(), "no request left within the measured 0.050 s");
  }

  @Test
  void run_withoutARequest_isNotSaidToHaveBeenAnswered() throws Exception {
    try (ScriptedServer server = new ScriptedServer(new StubModel()::serve)) {
      ExitStatus status =
          console.loadgen(
              "-m m -u %s --rate 0.001 --distribution constant --warmup 50ms --duration 50ms"
                  .formatted(server.url()));

      assertEquals(ExitStatus.OTHER, status, console::toString);
    }
    assertSaid(console.out.toString(), "no request left within the measured 0.050 s");
  }

  /** It is asked before and after each run. */
  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void sweep_interruptedAsTheServerIsAskedWhatItCounts_whatWasMeasuredIsKept(int question)
      throws Exception {
    Thread measuring = Thread.currentThread();
    AtomicInteger questions = new AtomicInteger();
    CountDownLatch never = new CountDownLatch(1);
    StubModel model = new StubModel();
    Path json = folder.resolve("r.json");
    try (ScriptedServer server =
        new ScriptedServer(
            request -> {
              if (request.startLine().contains("/stats")
                  && questions.incrementAndGet() == question) {
                measuring.interrupt();
                await(never);
              }
              return model.serve(request);
            })) {
      ExitStatus status =
          console.loadgen(
              "-m m -u %s --concurrency 1 --runs 3 --request-count %d --warmup 0s --json %s"
                  .formatted(server.url(), REQUESTS, json));

      assertEquals(ExitStatus.OTHER, status, console::toString);
    } finally {
      never.countDown();
    }
    JsonNode result = read(json);
    assertEquals(1, result.at("/steps/0/runs").size());
    assertTrue(result.at("/failures/0/reason").asText().contains("interrupted"), result::toString);
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A server that interrupts this thread, as a signal does, when it has been asked so often. */
  private static ScriptedServer interruptedAt(int requests) throws IOException {
    Thread measuring = Thread.currentThread();
    StubModel model = new StubModel();
    return new ScriptedServer(
        request -> {
          Optional<String> answer = model.serve(request);
          if (request.startLine().contains("/infer") && model.inferences.get() == requests) {
            measuring.interrupt();
          }
          return answer;
        });
  }

  private static JsonNode read(Path file) throws IOException {
    return new ObjectMapper().readTree(file.toFile());
  }

  private void assertSaid(String where, String text) {
    assertTrue(where.contains(text), console::toString);
  }

  /** A server that nobody can connect to any more once it has been asked as often as a run asks. */
  private static final class LeavingServer implements AutoCloseable {
    private final AtomicInteger left = new AtomicInteger(REQUESTS);
    private final StubModel model = new StubModel();
    private final ScriptedServer scripted;

    LeavingServer() throws IOException {
      scripted = new ScriptedServer(this::answer);
    }

    private Optional<String> answer(ScriptedServer.Request request) {
      if (request.startLine().contains("/infer") && left.decrementAndGet() == 0) {
        scripted.stopAccepting();
      }
      return model.serve(request);
    }

    URI url() {
      return scripted.url();
    }

    @Override
    public void close() throws IOException {
      scripted.close();
    }
  }
}
