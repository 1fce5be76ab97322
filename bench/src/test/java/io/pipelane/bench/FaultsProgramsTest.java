package io.pipelane.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The programs that lose workers and devices under load, as short as they can be. */
@Timeout(600)
class FaultsProgramsTest {
  @TempDir private Path folder;
  private BenchProgram program;

  @BeforeEach
  void setUp() {
    program = new BenchProgram(folder);
  }

  @Test
  @Tag("long")
  void multiGpu_spreadsRequestsAndLosesADeviceWithoutLosingAny() throws Exception {
    JsonNode cases =
        program
            .only("multi-gpu", "--models=4", "--rounds=1", "--seconds=0.5", "--warmup=0.1")
            .at("/cases");

    assertEquals(9, cases.size());
    Set<String> lost = new HashSet<>();
    Set<String> spread = new HashSet<>();
    for (JsonNode result : cases) { // In the order of the first round's turns.
      String row = result.at("/case").asText();
      boolean isLoss = row.endsWith(", one device lost");
      assertTrue((isLoss ? lost : spread).add(row), row);
      assertEquals(0, result.at("/failed/median").asInt(), result.toString());
      assertTrue(result.at("/requests/median").asInt() > 0, result.toString());
      for (String figure : List.of("pause_ms", "slowest_ms", "sessions")) {
        assertEquals(isLoss, result.has(figure), result.toString());
      }
    }
    assertEquals(
        Set.of(
            "predicted",
            "predicted, without replicas",
            "round robin",
            "static",
            "first device asked alone",
            "first device asked alone, nothing lent"),
        spread);
    assertEquals(
        Set.of(
            "predicted, one device lost",
            "predicted, no sessions ready, one device lost",
            "round robin, one device lost"),
        lost);
  }

  @Test
  @Tag("long")
  void faults_costAWorker_everyAnswerIsRightAndTheLedgerExact() throws Exception {
    JsonNode cases = faults("--fault=KILL,GRAPH_ABORT");

    requireNothingLost("kill -9 of the active worker", cases.at("/0"));
    requireNothingLost("abort() in a custom operator of the model's graph", cases.at("/1"));
  }

  @Test
  @Tag("long")
  void faults_ofOfflineWorksOwnWorker_hitThatOne() throws Exception {
    JsonNode lost = faults("--fault=KILL", "--offline=1", "--set=workers.offline=own").at("/0");

    requireNothingLost("kill -9 of the offline worker", lost);
    assertTrue(lost.at("/offline_tried/median").asInt() > 0, lost.toString());
    assertEquals(0, lost.at("/offline_failed/median").asInt(), lost.toString());
  }

  private JsonNode faults(String... arguments) throws Exception {
    List<String> all = new ArrayList<>(List.of("--spare-server", "--requests=20", "--rounds=1"));
    all.add("--hang-timeout=20s");
    all.addAll(List.of(arguments));
    return program.only("faults", all.toArray(String[]::new)).at("/cases");
  }

  private static void requireNothingLost(String description, JsonNode fault) {
    assertEquals(description, fault.at("/case").asText());
    for (String key : List.of("wrong", "unanswered", "refused")) {
      assertEquals(0, fault.at("/" + key + "/median").asInt(), fault.toString());
    }
    assertEquals(1, fault.at("/ledger_exact/median").asInt(), fault.toString());
  }
}
