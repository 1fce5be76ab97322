package io.pipelane.loadgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** perf_analyzer's flags, as they are sent, kept in the result, and repeated from it. */
@Timeout(60)
class PerfAnalyzerFlagsTest {
  @TempDir private Path folder;
  private final Console console = new Console();
  private final StubModel model = new StubModel();
  private final List<String> bodies = new CopyOnWriteArrayList<>();

  private Optional<String> serve(ScriptedServer.Request request) {
    if (request.startLine().contains("/infer")) {
      bodies.add(request.body());
    }
    return model.serve(request);
  }

  @Test
  void countWindowsAndWarmupByCount_areMeasuredAndRepeated() throws Exception {
    Path json = folder.resolve("r.json");
    Path csv = folder.resolve("r.csv");
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      ExitStatus status =
          console.loadgen(
              ("-m m --concurrency 1 --warmup-request-count 7 --measurement-mode count_windows"
                      + " --measurement-request-count 20 -r 3 --request-parameter who:a:b:string"
                      + " --output-tensor-format json --format json -u %s --json %s -f %s"
                      + " --verbose-csv")
                  .formatted(server.url(), json, csv));

      assertNotEquals(ExitStatus.WRONG_OPTION, status, console::toString);
      assertTrue(
          console.out.toString().contains("20 requests, up to 3 times after 7 requests of warm-up"),
          console::toString);
      assertEquals(67, bodies.size(), 1);
      assertTrue(
          bodies.getFirst().startsWith("{\"parameters\":{\"who\":\"a:b\"},"), bodies::toString);
      List<String> lines = Files.readAllLines(csv);
      assertTrue(lines.getFirst().endsWith("Avg latency,request/response,response wait"));
      assertEquals(lines.get(0).split(",", -1).length, lines.get(1).split(",", -1).length);

      assertNotEquals(
          ExitStatus.WRONG_OPTION,
          console.run(new RerunCommand(), json.toString()),
          console::toString);
      assertEquals(134, bodies.size(), 2);
      assertEquals(bodies.getFirst(), bodies.getLast());
    }
    JsonNode flags = new ObjectMapper().readTree(json.toFile()).path("flags");
    assertEquals("COUNT_WINDOWS", flags.path("measurement-mode").asText());
    assertEquals(7, flags.path("warmup-request-count").asLong());
  }

  @Test
  void shapeOfSeveralRows_countsAsManyInferences() throws Exception {
    Path csv = folder.resolve("r.csv");
    Path json = folder.resolve("r.json");
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      console.loadgen(
          "-m m --concurrency 1 --request-count 5 --warmup 0s --shape ids:8,4 -u %s -f %s --json %s"
              .formatted(server.url(), csv, json));
    }
    String inferences = Files.readAllLines(csv).get(1).split(",", -1)[1];
    double answers =
        new ObjectMapper()
            .readTree(json.toFile())
            .at("/steps/0/summary/answers_per_second/mean")
            .asDouble();
    assertEquals(8 * answers, Double.parseDouble(inferences), 0.01, console::toString);
  }

  @Test
  void requestIntervals_areHeldAndTheirFileIsNamed() throws Exception {
    Path intervals = Files.writeString(folder.resolve("intervals"), "1000\n3000\n");
    Path json = folder.resolve("r.json");
    try (ScriptedServer server = new ScriptedServer(this::serve)) {
      ExitStatus status =
          console.loadgen(
              "-m m --request-intervals %s --duration 200ms --warmup 0s -u %s --json %s"
                  .formatted(intervals, server.url(), json));

      assertNotEquals(ExitStatus.WRONG_OPTION, status, console::toString);
      // 1, 4, 5, 8, ..., 197 ms
      assertEquals(99, bodies.size());
      JsonNode result = new ObjectMapper().readTree(json.toFile());
      assertEquals(intervals.toString(), result.at("/files/0/path").asText());
      assertEquals(500, result.at("/steps/0/request_rate").asDouble(), 1e-6);

      Files.writeString(intervals, "1000\n3001\n");
      assertEquals(
          ExitStatus.WRONG_OPTION,
          console.run(new RerunCommand(), json.toString()),
          console::toString);
    }
  }
}
