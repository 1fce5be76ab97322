package io.pipelane.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code bench sharing}, whole servers and all, as short as it can be. */
@Timeout(240)
class SharingProgramTest {
  private static final String[] LATENCIES = {"mean_ms", "p50_ms", "p99_ms", "p999_ms"};
  private static final String[] RATIOS = {"mean_to_alone", "p50_to_alone", "p99_to_alone"};

  @TempDir private Path folder;
  private BenchProgram program;

  @BeforeEach
  void setUp() {
    program = new BenchProgram(folder);
  }

  private JsonNode share(String... options) throws Exception {
    String[] all = new String[options.length + 5];
    all[0] = "--online=ppocr-cls";
    all[1] = "--offline=ppocr-v4-rec";
    all[2] = "--rounds=1";
    all[3] = "--warmup=0.1";
    all[4] = "--batch=1";
    System.arraycopy(options, 0, all, 5, options.length);
    return program.only("sharing", all).at("/cases");
  }

  private static JsonNode named(JsonNode cases, String name) {
    for (JsonNode each : cases) {
      if (each.path("case").asText().equals(name)) {
        return each;
      }
    }
    throw new AssertionError("there is no case " + name + " in " + cases);
  }

  private static void requireLatencies(JsonNode result, int requests) {
    assertEquals(requests, result.at("/online_requests/median").asInt(), result::toString);
    assertEquals(0, result.at("/failed/median").asInt(-1), result::toString);
    for (String column : LATENCIES) {
      assertTrue(result.at("/" + column + "/median").asDouble() > 0, column + " of " + result);
    }
  }

  /** A job whose threads and runs want all processors: every request is answered and counted. */
  @Test
  void sharing_besideThreadsThatFillAllProcessors_tellsOnlinePercentilesOfEveryRequest()
      throws Exception {
    int cores = Runtime.getRuntime().availableProcessors();
    JsonNode cases =
        share(
            "--rate=100",
            "--requests=200",
            "--arrivals=regular",
            "--way=GATES",
            "--host-threads=" + cores);

    requireLatencies(named(cases, "100/s regular, alone"), 201);
    JsonNode beside = named(cases, "100/s regular, gates");
    requireLatencies(beside, 201);
    for (String column : RATIOS) {
      assertTrue(beside.at("/" + column + "/median").asDouble() > 0, column + " of " + beside);
    }
    assertTrue(beside.at("/offline_per_s/median").isNumber(), beside.toString());
    String table = program.output();
    assertTrue(table.contains("p99 ms") && table.contains("100/s regular, gates"), table);
  }

  /** One call measures every share, and their figures can be drawn over the shares. */
  @Tag("long")
  @Test
  void sharing_severalShares_areCasesOfOneCallAndALineOfADrawing() throws Exception {
    JsonNode cases = share("--rate=50", "--requests=20", "--way=SHARES", "--share=10,100");

    assertTrue(named(cases, "50/s, shares 10 %").at("/p99_to_alone/median").asDouble() > 0);
    assertTrue(named(cases, "50/s, shares 100 %").at("/p99_to_alone/median").asDouble() > 0);
    Path svg = folder.resolve("shares.svg");
    int status =
        program.execute(
            "plot",
            "--from=" + folder.resolve("result.json"),
            "--column=p99_to_alone,oversold_share",
            "--across=shares (\\d+) %",
            "--title=By share",
            "--svg=" + svg);

    assertEquals(0, status, program::output);
    String drawn = Files.readString(svg);
    assertTrue(drawn.contains(">50/s, p99_to_alone<") && drawn.contains(">50/s, oversold_share<"));
  }
}
