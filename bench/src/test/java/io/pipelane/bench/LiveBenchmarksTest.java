package io.pipelane.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.bench.model.ChainModel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The programs that run whole servers on real models, as short as they can be. */
@Timeout(120)
class LiveBenchmarksTest {
  @TempDir private Path folder;
  private BenchProgram program;

  @BeforeEach
  void setUp() {
    program = new BenchProgram(folder);
  }

  @Test
  void overhead_comparesAModelOfTheDemoAndOneOfTheZooWithPlainSessions() throws Exception {
    JsonNode cases = program.run("overhead", "--model=ppocr-cls,vae").at("/cases");

    assertEquals("ppocr-cls 48x192", cases.at("/0/case").asText());
    assertEquals("vae", cases.at("/1/case").asText());
    assertEquals("median of 2", cases.at("/2/case").asText());
    for (int i = 0; i < 2; i++) {
      assertEquals(2, cases.at("/" + i + "/pipelane_to_plain/rounds").size());
      assertTrue(cases.at("/" + i + "/pipelane_to_plain/median").asDouble() > 0);
    }
  }

  @Test
  void overhead_whenThereIsNoSuchModel_saysWhichThereAre() {
    int status = program.execute("overhead", "--model=nonesuch", "--work=" + folder);

    assertEquals(1, status);
    assertTrue(program.output().contains("there is no model nonesuch; there are"));
  }

  @Test
  void cycles_switchesAtEveryTurnByBothWays() throws Exception {
    JsonNode cases =
        program
            .run("cycles", "--background=vae_train", "--inference=ppocr-cls", "--cycle=0.01")
            .at("/cases");

    assertEquals("0.01 s, Pipelane", cases.at("/0/case").asText());
    assertEquals("0.01 s, stop and start", cases.at("/2/case").asText());
    assertTrue(cases.at("/0/moved_mb_a_turn/median").asDouble() > 0, cases.toString());
    for (int way : new int[] {0, 2}) {
      JsonNode result = cases.at("/" + way);
      assertTrue(result.at("/share_of_bound/median").asDouble() > 0, result.toString());
      assertTrue(
          result.at("/least_ms/median").asDouble() <= result.at("/most_ms/median").asDouble());
    }
  }

  @Test
  void cycles_whenBothModelsAreTheSame_refuses() {
    int status =
        program.execute("cycles", "--background=vae", "--inference=vae", "--work=" + folder);

    assertEquals(1, status);
    assertTrue(program.output().contains("must be different models"));
  }

  @Test
  void sharing_whenOtherWaysWouldRunUnderMps_refuses() {
    int status = program.execute("sharing", "--way=PROCESSES,MPS", "--work=" + folder);

    assertEquals(1, status);
    assertTrue(program.output().contains("in another call: [processes]"), program.output());
  }

  @Test
  void day_ofMeasuredFigures_isLivedAndSimulated() throws Exception {
    Path measured =
        Files.writeString(
            folder.resolve("sharing.json"),
            """
            {"cases": [
              {"case": "20/s, alone", "mean_ms": {"median": 2}},
              {"case": "190/s, alone", "mean_ms": {"median": 2.2}},
              {"case": "offline alone, gates", "offline_per_s": {"median": 800}},
              {"case": "20/s, gates", "idle_share": {"median": 0.98},
                "mean_to_alone": {"median": 1.1}, "offline_per_s": {"median": 750}},
              {"case": "190/s, gates", "mean_to_alone": {"median": 1.2},
                "offline_per_s": {"median": 500}}]}
            """);

    JsonNode cases =
        program
            .only(
                "day",
                "--online=ppocr-cls",
                "--offline=vae",
                "--sharing=" + measured,
                "--minute-millis=2",
                "--rounds=1",
                "--warmup=0.05")
            .at("/cases");

    assertEquals("online only", cases.at("/0/case").asText());
    assertEquals("gates", cases.at("/1/case").asText());
    for (int i = 0; i < 2; i++) {
      assertTrue(cases.at("/" + i + "/live_mean_ms/median").asDouble() > 0, cases.toString());
      assertTrue(cases.at("/" + i + "/simulated_mean_ms/median").asDouble() > 0);
    }
    assertEquals(7, cases.at("/1/jobs/median").asInt());
    assertTrue(cases.at("/1/live_completion_min/median").asDouble() > 0);
  }

  @Test
  void preempt_asksInEverySceneAndStopsAndStarts() throws Exception {
    JsonNode cases =
        program
            .run(
                "preempt",
                "--background=ppocr-v4-rec",
                "--inference=ppocr-cls",
                "--isolation=THREAD",
                "--runs=6",
                "--starts=0")
            .at("/cases");

    assertEquals("thread, room for both: ready", cases.at("/0/case").asText());
    assertEquals(0, cases.at("/0/overhead_ms/median").asDouble());
    assertEquals("thread, room for one: busy and cold", cases.at("/7/case").asText());
    assertEquals("stop and start, a new session", cases.at("/8/case").asText());
    for (JsonNode result : cases) {
      assertEquals(3, result.at("/runs/median").asInt(), result.toString());
      assertTrue(result.at("/mean_ms/median").asDouble() > 0, result.toString());
    }
  }

  @Test
  void levers_areTurnedOffInTurnLiveAndSimulated() throws Exception {
    JsonNode cases =
        program
            .run(
                "levers",
                "--model=ppocr-cls,vae",
                "--copies=2",
                "--rate=200",
                "--lever=PIPELINE,READING_IN_PLACE")
            .at("/cases");

    assertEquals("live: everything on", cases.at("/0/case").asText());
    assertEquals("live: nothing read in place", cases.at("/2/case").asText());
    assertEquals("H200: everything on", cases.at("/3/case").asText());
    assertEquals(5, cases.size());
    assertTrue(cases.at("/4/stall_to_everything/median").asDouble() > 1, cases.toString());
    for (JsonNode result : cases) {
      assertEquals(0, result.at("/failed/median").asInt(), result.toString());
      assertTrue(result.at("/moved_mb_a_request/median").asDouble() > 0, result.toString());
    }
  }

  @Test
  void loads_happenWhileTheResidentModelIsAsked() throws Exception {
    JsonNode cases = program.run("loads", "--resident=ppocr-cls", "--other=vae").at("/cases");

    assertEquals("quiet", cases.at("/0/case").asText());
    assertEquals(1, cases.at("/0/p99_to_quiet/median").asDouble());
    assertEquals(0, cases.at("/0/moved_mb_per_s/median").asDouble());
    assertEquals(4, cases.size());
    for (JsonNode result : cases) {
      assertEquals(0, result.at("/failed/median").asInt(), result.toString());
    }
    assertTrue(cases.at("/2/loads_per_s/median").asDouble() > 0, cases.toString());
  }

  @Test
  void multiGpu_spreadsRequestsAndLosesADeviceWithoutLosingAny() throws Exception {
    JsonNode cases =
        program
            .only("multi-gpu", "--models=4", "--rounds=1", "--seconds=0.5", "--warmup=0.1")
            .at("/cases");

    assertEquals(7, cases.size());
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
        Set.of("predicted", "predicted, without replicas", "round robin", "static"), spread);
    assertEquals(
        Set.of(
            "predicted, one device lost",
            "predicted, no sessions ready, one device lost",
            "round robin, one device lost"),
        lost);
  }

  @Test
  void links_bringsAModelInOverSeveral() throws Exception {
    JsonNode cases =
        program
            .run("links", "--device=cpu:0,1", "--model=ppocr-cls", "--link=100MB/s")
            .at("/cases");

    assertEquals("ppocr-cls 48x192, 1 link", cases.at("/0/case").asText(), cases.toString());
    assertEquals(0, cases.at("/0/borrowed_percent/median").asDouble(), cases.toString());
    assertEquals("ppocr-cls 48x192, 2 links", cases.at("/1/case").asText(), cases.toString());
    assertTrue(cases.at("/1/cold_ms/median").asDouble() > 0, cases.toString());
    assertEquals(0, cases.at("/2/peers_percent/median").asDouble(), cases.toString());
    assertTrue(cases.at("/3/cold_ms/median").asDouble() > 0, cases.toString());
  }

  @Test
  void faults_costAWorker_everyAnswerIsRightAndTheLedgerExact() throws Exception {
    JsonNode cases = faults("--fault=KILL,GRAPH_ABORT");

    requireNothingLost("kill -9 of the active worker", cases.at("/0"));
    requireNothingLost("abort() in a custom operator of the model's graph", cases.at("/1"));
  }

  @Test
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

  @Test
  void switch_isolation_measuresBothInTurnAndTellsTheDifference() throws Exception {
    ChainModel.write(folder.resolve("chains"), "chain", 1);
    Path json = folder.resolve("isolation.json");
    int status =
        program.execute(
            "switch",
            "--part=ISOLATION",
            "--repository=" + folder.resolve("chains"),
            "--model=chain",
            "--iterations=2",
            "--warmup=1",
            "--work=" + folder,
            "--json=" + json);

    assertEquals(0, status, program.output());
    JsonNode chain = new ObjectMapper().readTree(json.toFile()).at("/models/chain");
    assertTrue(chain.at("/facts").has("isolation_added_warm_p50_ms"), chain.toString());
    assertTrue(chain.at("/facts").has("isolation_added_cold_p99_ms"), chain.toString());
    assertEquals(2, chain.at("/rows_ms/isolation_thread_warm/count").asInt(), chain.toString());
    assertEquals(2, chain.at("/rows_ms/isolation_process_cold/count").asInt(), chain.toString());
  }

  @Test
  void tiers_bringsAModelInFromDisk() throws Exception {
    JsonNode cases = program.run("tiers", "--model=ppocr-v4-rec", "--threads=2").at("/cases");

    JsonNode rec = cases.at("/0");
    assertEquals(2, rec.at("/transfer_to_direct/rounds").size());
    assertTrue(rec.at("/transfer_to_direct/median").asDouble() > 0, rec.toString());
    assertTrue(rec.at("/direct_mb_per_s/median").asDouble() > 0, rec.toString());
  }

  @Test
  void memory_tellsKindsApartAndDrawsASwitch() throws Exception {
    Path drawing = folder.resolve("switch.svg");
    Path distribution = folder.resolve("distribution.svg");
    JsonNode cases =
        program
            .run(
                "memory",
                "--model=ppocr-cls,vae",
                "--switch=ppocr-cls,vae",
                "--switch-svg=" + drawing,
                "--distribution-svg=" + distribution)
            .at("/cases");

    JsonNode vae = cases.at("/1");
    assertEquals("vae", vae.at("/case").asText());
    assertTrue(vae.at("/weights_peak_mb/median").asDouble() >= 2.6, vae.toString());
    assertTrue(vae.at("/copy_to_inference/median").asDouble() > 0, vae.toString());
    assertEquals("quantile 0.1 of 2", cases.at("/2/case").asText());
    assertTrue(Files.readString(drawing).contains(">vae<"));
    assertTrue(Files.readString(distribution).endsWith("</svg>\n"));
  }

  @Test
  void slo_live_answersVariantsAndRefusesWhatCannotBeInTime() throws Exception {
    JsonNode cases =
        program
            .only(
                "slo",
                "--models=10",
                "--seconds=4",
                "--load=0.3,4",
                "--live-models=6",
                "--live-memory=8MiB",
                "--live-seconds=0.5")
            .at("/cases");

    assertEquals("live, load 0.3", cases.at("/2/case").asText());
    JsonNode crowded = cases.at("/3");
    assertEquals("live, load 4.0", crowded.at("/case").asText());
    assertTrue(crowded.at("/offered_per_s/median").asDouble() > 0, crowded.toString());
    assertTrue(crowded.at("/goodput_per_s/median").asDouble() > 0, crowded.toString());
  }

  @Test
  void trace_live_endsEveryJobUnderEveryPolicy() throws Exception {
    JsonNode cases =
        program
            .only(
                "trace",
                "--jobs=5",
                "--traces=1",
                "--live-jobs=5",
                "--live-iterations=3",
                "--live-window=0.05",
                "--live-rounds=1")
            .at("/cases");

    List<String> rows = cases.findValuesAsText("case");
    assertEquals(
        List.of("live, fifo", "live, srtf", "live, pack", "live, fair"), rows.subList(8, 12));
    for (int row = 8; row < 12; row++) {
      JsonNode live = cases.get(row);
      assertTrue(
          live.at("/queueing_s/median").asDouble() <= live.at("/completion_s/median").asDouble(),
          live.toString());
      assertTrue(live.at("/makespan_s/median").asDouble() > 0, live.toString());
    }
    assertEquals(1, cases.at("/8/fifo_to_completion/median").asDouble());
  }

  @Test
  void groups_live_areDonePackedAndInTurn() throws Exception {
    JsonNode cases =
        program
            .only(
                "groups",
                "--jobs=3",
                "--iterations=3",
                "--live-jobs=3",
                "--live-iterations=4",
                "--live-rounds=2")
            .at("/cases");

    JsonNode live = cases.at("/4");
    assertEquals("live, minilm-l6-v2 16 tokens", live.at("/case").asText());
    assertEquals(2, live.at("/pack_makespan_s/rounds").size());
    assertTrue(live.at("/fifo_to_pack/median").asDouble() > 0, live.toString());
    assertEquals(2, live.at("/lanes/median").asInt());
  }
}
