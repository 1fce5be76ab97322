package io.pipelane.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.bench.model.ChainModel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The programs that bring models in and let them go, as short as they can be. */
@Timeout(120)
class SwitchingProgramsTest {
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
  @Tag("long")
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
  @Tag("long")
  void levers_thatTheMixDoesNotShow_areTurnedOffInWorkloadsOfTheirOwn() throws Exception {
    JsonNode cases =
        program
            .run(
                "levers",
                "--model=ppocr-cls,vae",
                "--copies=2",
                "--rate=200",
                "--live-only",
                "--lever=SHARED_PAGES,TIERS,PACING")
            .at("/cases");

    List<String> names = new ArrayList<>();
    cases.forEach(result -> names.add(result.at("/case").asText()));
    assertEquals(
        List.of(
            "live, versions: everything on",
            "live, versions: no shared pages",
            "live, from disk: everything on",
            "live, from disk: all read, then copied",
            "live, beside loads: everything on",
            "live, beside loads: no pacing"),
        names);
    for (JsonNode result : cases) {
      assertEquals(0, result.at("/failed/median").asInt(), result.toString());
    }
    assertTrue(cases.at("/1/moved_mb_a_request/median").asDouble() > 0, cases.toString());
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
  @Tag("long")
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
    Files.createDirectories(folder.resolve("work/cache")); // It searches a cache of its own.
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
    double allocations = vae.at("/ephemeral_allocations/median").asDouble();
    assertTrue(allocations > 0, vae.toString());
    assertTrue(vae.at("/weights_allocations/median").asDouble() >= 2, vae.toString());
    double bySize = 0;
    int row = 2;
    while (cases.at("/" + row + "/case").asText().startsWith("up to ")) {
      bySize += cases.at("/" + row + "/ephemeral_allocations/median").asDouble();
      row++;
    }
    double ofBoth = allocations + cases.at("/0/ephemeral_allocations/median").asDouble();
    assertEquals(ofBoth, bySize);
    assertEquals("quantile 0.1 of 2", cases.at("/" + row + "/case").asText());
    assertTrue(Files.readString(drawing).contains(">vae<"));
    assertTrue(Files.readString(distribution).endsWith("</svg>\n"));
  }
}
