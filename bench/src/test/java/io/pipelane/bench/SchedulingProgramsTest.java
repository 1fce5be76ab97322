package io.pipelane.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The programs that have a whole server decide what runs next, as short as they can be. */
@Timeout(120)
class SchedulingProgramsTest {
  @TempDir private Path folder;
  private BenchProgram program;

  @BeforeEach
  void setUp() {
    program = new BenchProgram(folder);
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
    requireLived(cases.at("/0"));
    String gates = cases.at("/1/case").asText();
    if (!gates.equals("gates")) { // A busy machine does not get its jobs done within the day.
      assertEquals("gates: a day whose jobs went on after it, not counted", gates);
      return;
    }
    requireLived(cases.at("/1"));
    assertEquals(7, cases.at("/1/jobs/median").asInt());
    assertTrue(cases.at("/1/live_completion_min/median").asDouble() > 0);
  }

  private static void requireLived(JsonNode day) {
    assertTrue(day.at("/live_mean_ms/median").asDouble() > 0, day.toString());
    assertTrue(day.at("/simulated_mean_ms/median").asDouble() > 0, day.toString());
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
                "--sessions=3",
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
    assertEquals("live, srtf, load 4.0", cases.at("/5/case").asText());
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
  @Tag("long")
  @Timeout(600)
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
