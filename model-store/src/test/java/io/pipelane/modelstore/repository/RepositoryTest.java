package io.pipelane.modelstore.repository;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.modelstore.repository.RepositoryScan.Problem;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RepositoryTest {
  @TempDir Path parent;

  @Test
  void scan_findsVersionsInOrderAndIgnoresTheRest() throws IOException {
    for (String version : List.of("10", "2", "0", "-1", "01", "latest", "99999999999999999999")) {
      model("b", version);
    }
    model("a with space", "1");
    model(".hidden", "1");
    Files.writeString(root().resolve("README"), "not a model");
    RepositoryScan scan = scan();
    assertEquals(
        List.of("a with space/1", "b/2", "b/10"),
        scan.registered().stream().map(found -> found.version().toString()).toList());
    assertEquals(List.of(), scan.problems());
  }

  @Test
  void scan_oneBadModel_doesNotKeepOthersOut() throws IOException {
    model("good", "1");
    model("späte", "1");
    model("x".repeat(129), "1");
    Files.createDirectories(root().resolve("empty"));
    Files.createDirectories(root().resolve("hollow/1"));
    RepositoryScan scan = scan();
    assertEquals(1, scan.registered().size());
    assertEquals(4, scan.problems().size());
    assertProblem(scan, "empty", "no version");
    assertProblem(scan, "hollow", "model.onnx");
    assertProblem(scan, "späte", "letters");
  }

  @Test
  void scan_linkOutOfTheRepository_isAProblem() throws IOException {
    Path secret = Files.createDirectories(parent.resolve("outside/1"));
    Files.writeString(secret.resolve("model.onnx"), "x");
    Files.createSymbolicLink(root().resolve("linked"), parent.resolve("outside"));
    Files.createDirectories(root().resolve("file/1"));
    Files.createSymbolicLink(root().resolve("file/1/model.onnx"), secret.resolve("model.onnx"));
    Files.createDirectories(root().resolve("version"));
    Files.createSymbolicLink(root().resolve("version/1"), secret);
    RepositoryScan scan = scan();
    assertEquals(List.of(), scan.registered());
    for (String model : List.of("linked", "file", "version")) {
      assertProblem(scan, model, "out of the repository");
    }
  }

  @Test
  void scan_missingFolder_isRefused() {
    Repository repository = new Repository(parent.resolve("nowhere"));
    assertThrows(StatusException.class, repository::scan);
  }

  @Test
  void scan_readsOptions() throws IOException {
    model("m", "1");
    Files.writeString(
        root().resolve("m/pipelane.yaml"),
        """
        buckets: [1, 4, 16]
        warm-up: true
        tenant: accounting
        priority: offline
        limits: {queued-requests: 8, queued-size: 2MiB, request-size: 1MiB, timeout: 250ms, max-slowdown: 1.05}
        batching: {mode: always, preferred-sizes: [4, 8], max-queue-delay: 500us, preserve-order: true, max-rows: 32}
        """);
    ModelOptions options = scan().registered().getFirst().options();
    assertEquals(List.of(1, 4, 16), options.buckets());
    assertTrue(options.warmUp());
    assertEquals("accounting", options.tenant());
    assertEquals(Priority.OFFLINE, options.priority());
    assertEquals(
        new ModelOptions.Limits(
            Optional.of(8),
            Optional.of(ByteSize.ofMebibytes(2)),
            Optional.of(ByteSize.ofMebibytes(1)),
            Optional.of(Duration.ofMillis(250)),
            Optional.of(1.05)),
        options.limits());
    assertEquals(
        new BatchingOptions(
            BatchingOptions.Mode.ALWAYS,
            List.of(4, 8),
            Duration.ofNanos(500_000),
            true,
            Optional.of(32)),
        options.batching());
  }

  @Test
  void parse_keyWrittenTwice_namesItAndItsLine() {
    byte[] yaml = "limits:\n  timeout: 5s\n  timeout: 6s\n".getBytes(StandardCharsets.UTF_8);
    StatusException error = assertThrows(StatusException.class, () -> ModelOptionsFile.parse(yaml));
    assertTrue(
        String.valueOf(error.getMessage()).contains("key \"timeout\" in line 3"),
        error.getMessage());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "bukets: [1]",
        "buckets: [4, 1]",
        "buckets: [1]\nbuckets: [4]",
        "buckets: [0]",
        "batching: {max-rows: 0}",
        "batching: {max-rows: 4, preferred-sizes: [4, 8]}",
        "buckets: [4, 8]\nbatching: {max-rows: 4}",
        "buckets: many",
        "priority: urgent",
        "warm-up: maybe",
        "tenant: [a, b]",
        "limits: {queue: 3}",
        "limits: {timeout: soon}",
        "limits: {max-slowdown: 1}",
        "limits: {max-slowdown: 11}",
        "limits: {max-slowdown: -1.5}",
        "limits: {max-slowdown: .nan}",
        "limits: {max-slowdown: [1.5]}",
        "limits: {request-size: 3 bananas}",
        "limits: 7",
        "batching: fast",
        "batching: {mode: sometimes}",
        "batching: {preferred-sizes: [8, 4]}",
        "batching: {max-queue-delay: 2s}",
        "batching: {preserve-order: perhaps}",
        "[1, 2]",
        "a: b: c",
        "\"unclosed"
      })
  void scan_wrongOptions_areAProblemOfThatModel(String yaml) throws IOException {
    model("m", "1");
    model("other", "1");
    Files.writeString(root().resolve("m/pipelane.yaml"), yaml);
    RepositoryScan scan = scan();
    assertEquals(1, scan.registered().size());
    assertProblem(scan, "m", "pipelane.yaml");
  }

  @Test
  void parse_mutatedOptions_areReadOrRefused() {
    String text = "buckets: [1, 4]\nwarm-up: true\nlimits: {timeout: 5s, request-size: 1MiB}\n";
    for (long seed = 0; seed < 2000; seed++) {
      Random random = new Random(seed);
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      for (int i = random.nextInt(4); i >= 0; i--) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
      }
      try {
        ModelOptionsFile.parse(bytes);
      } catch (StatusException e) {
        assertTrue(String.valueOf(e.getMessage()).startsWith("pipelane.yaml"), "seed " + seed);
      } catch (RuntimeException e) {
        throw new AssertionError("seed " + seed, e);
      }
    }
  }

  private Path root() throws IOException {
    return Files.createDirectories(parent.resolve("repository"));
  }

  private RepositoryScan scan() throws IOException {
    return new Repository(root()).scan();
  }

  private void model(String name, String version) throws IOException {
    Path folder = Files.createDirectories(root().resolve(name).resolve(version));
    Files.writeString(folder.resolve("model.onnx"), "x");
  }

  private static void assertProblem(RepositoryScan scan, String model, String words) {
    Problem problem =
        scan.problems().stream().filter(p -> p.model().equals(model)).findFirst().orElseThrow();
    assertTrue(problem.reason().contains(words), problem.reason());
  }
}
