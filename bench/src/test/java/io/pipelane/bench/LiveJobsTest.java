package io.pipelane.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.bench.model.ChainModel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Salus' experiments live, on models of a folder. */
@Timeout(120)
class LiveJobsTest {
  @TempDir private Path folder;
  private BenchProgram program;
  private Path models;

  @BeforeEach
  void setUp() throws Exception {
    program = new BenchProgram(folder);
    models = folder.resolve("models");
    ChainModel.write(models, "chain", 1);
  }

  private JsonNode live(int status, String... arguments) throws Exception {
    Path json = folder.resolve("result.json");
    List<String> all = new ArrayList<>(List.of(arguments));
    all.addAll(List.of("--live-only", "--repository=" + models, "--memory=64MiB"));
    all.addAll(List.of("--work=" + folder.resolve("work"), "--json=" + json));
    assertEquals(status, program.execute(all.toArray(String[]::new)), program::output);
    return new ObjectMapper().readTree(json.toFile()).at("/cases");
  }

  @Test
  void packing_whenAModelIsRefused_measuresTheOthers() throws Exception {
    Path broken = models.resolve("broken").resolve("1").resolve("model.onnx");
    Files.createDirectories(broken.getParent());
    Files.writeString(broken, "this is no model");

    JsonNode cases =
        live(
            1,
            "packing",
            "--model=broken,chain",
            "--copies=2",
            "--live-interval=0.02",
            "--seconds=0.2",
            "--live-rounds=2");

    assertEquals(2, cases.size(), cases.toString());
    String missing = cases.at("/0/case").asText();
    assertTrue(missing.startsWith("live, CPU, without broken: "), missing);
    JsonNode live = cases.at("/1");
    assertEquals("live, CPU", live.at("/case").asText());
    assertEquals(2, live.at("/models/median").asInt(), live.toString());
    assertEquals(2, live.at("/added_ms/rounds").size(), live.toString());
    assertEquals(0, live.at("/failed/median").asInt(), live.toString());
  }

  @Test
  void packing_whenEveryModelIsRefused_saysSo() throws Exception {
    Files.writeString(models.resolve("chain").resolve("1").resolve("model.onnx"), "no model");

    JsonNode cases = live(1, "packing", "--model=chain", "--copies=1");

    assertEquals("live, CPU, failed: no model can be asked", cases.at("/1/case").asText());
  }

  @Test
  void fairness_sharesAmongThreeCopies() throws Exception {
    JsonNode cases = live(0, "fairness", "--model=chain", "--step=0.2");

    assertEquals("live, fair, from 0 s", cases.at("/0/case").asText());
    assertEquals("live, fair, from 0.2 s", cases.at("/1/case").asText());
    assertEquals(3, cases.at("/2/jobs/median").asInt(), cases.toString());
    assertEquals(10, cases.size(), cases.toString());
  }

  @Test
  void groups_whenNothingIsLeftToRun_refuses() {
    int status = program.execute("groups", "--live-only", "--simulated-only");

    assertEquals(1, status);
    assertTrue(program.output().contains("leave nothing"), program.output());
    assertFalse(Files.exists(folder.resolve("work")));
  }
}
