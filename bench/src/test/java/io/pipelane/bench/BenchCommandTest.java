package io.pipelane.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.loadgen.Subcommand;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** Each program from its flags to its file, as short as it can be. */
@Timeout(120)
class BenchCommandTest {
  @TempDir private Path folder;
  private BenchProgram program;

  @BeforeEach
  void setUp() {
    program = new BenchProgram(folder);
  }

  @Test
  void shouldBeFoundByTheLoadGenerator() {
    assertTrue(
        ServiceLoader.load(Subcommand.class).stream()
            .anyMatch(provider -> provider.type() == BenchCommand.class));
  }

  /** An element of a description begins a line of its own, however wide the terminal is. */
  @Test
  void help_breaksLinesBehindSentencesOnly() {
    for (Subcommand subcommand : ServiceLoader.load(Subcommand.class)) {
      requireSentences(new CommandLine(subcommand).getCommandSpec());
    }
  }

  private static void requireSentences(CommandLine.Model.CommandSpec command) {
    for (CommandLine.Model.OptionSpec option : command.options()) {
      String[] lines = option.description();
      for (int i = 0; i < lines.length - 1; i++) {
        assertTrue(lines[i].endsWith("."), command.qualifiedName() + ": " + lines[i]);
      }
    }
    command.subcommands().values().forEach(each -> requireSentences(each.getCommandSpec()));
  }

  @Test
  void guide_namesEveryProgram() throws Exception {
    Set<String> programs =
        new TreeSet<>(new CommandLine(new BenchCommand()).getSubcommands().keySet());

    String expected = "`bin/loadgen bench " + String.join("|", programs) + "`";
    Path page = Path.of("..", "docs", "guide", "commands.md");
    assertTrue(Files.readString(page).contains(expected), "missing: " + expected);
  }

  @Test
  void forms_measuresEveryContestantOncePerRound() throws Exception {
    JsonNode result = program.run("forms", "--case", "noop").at("/cases/0");

    assertEquals("noop", result.at("/case").asText());
    assertEquals(2, result.at("/plain_per_s/rounds").size());
    for (String key : new String[] {"plain_ms", "gated_ms", "cold_ms"}) {
      assertTrue(result.at("/" + key + "/median").asDouble() > 0, result.toString());
    }
  }

  @Test
  void grouping_comparesWaysToChooseGroups() throws Exception {
    JsonNode result = program.run("grouping", "--limit", "0.01").at("/cases/0");

    assertEquals(464, result.at("/layers/median").asInt());
    assertTrue(
        result.at("/optimal_ms/median").asDouble()
            <= result.at("/equal_bytes_ms/median").asDouble(),
        result.toString());
  }

  @Test
  void noop_measuresPipelaneAndNettyWithoutErrors() throws Exception {
    String[] longEnough = {"--rounds=2", "--seconds=0.3", "--warmup=0.1", "--connections=2"};
    JsonNode result = program.only("noop", longEnough).at("/cases/0");

    assertEquals("2 connections", result.at("/case").asText());
    assertEquals(0, result.at("/errors/median").asDouble());
    assertTrue(result.at("/netty_per_s/median").asDouble() > 0, result.toString());
    assertTrue(result.at("/server_per_s/median").asDouble() > 0, result.toString());
  }

  @Test
  void frontEnd_measuresEveryFormBesideItsCeilingWithoutErrors() throws Exception {
    JsonNode cases = program.run("front-end", "--connections", "8").at("/cases");

    assertEquals(4, cases.size(), cases.toString());
    for (JsonNode contest : cases) {
      assertEquals(0, contest.at("/errors/median").asDouble(), cases.toString());
      assertEquals(2, contest.at("/server_to_ceiling/rounds").size(), cases.toString());
    }
  }

  @Test
  void residency_comparesPoliciesAndWritesItsFiles() throws Exception {
    Path json = folder.resolve("residency.json");
    Path page = folder.resolve("residency.md");
    Path plot = folder.resolve("residency.svg");
    int status =
        program.execute(
            "residency",
            "--seconds=10",
            "--models=8",
            "--no-density",
            "--json=" + json,
            "--markdown=" + page,
            "--svg=" + plot);

    assertEquals(0, status, program.output());
    JsonNode scene = new ObjectMapper().readTree(json.toFile()).at("/findings/scenes/0");
    assertEquals(7, scene.at("/rows").size());
    assertTrue(scene.at("/rows/0/outcome/meanStall").asDouble() > 0, scene.toString());
    assertTrue(Files.readString(page).contains("expected-stall"));
    assertTrue(Files.readString(plot).endsWith("</svg>\n"));
  }

  @Test
  void cluster_comparesSchemesAndWritesItsFiles() throws Exception {
    Path json = folder.resolve("cluster.json");
    Path page = folder.resolve("cluster.md");
    Path latencies = folder.resolve("latency.svg");
    Path completions = folder.resolve("completion.svg");
    int status =
        program.execute(
            "cluster",
            "--devices=12",
            "--cluster=A",
            "--scheme=gates",
            "--rounds=1",
            "--epochs=1",
            "--matching=8",
            "--json=" + json,
            "--markdown=" + page,
            "--latency-svg=" + latencies,
            "--completion-svg=" + completions);

    assertEquals(0, status, program.output());
    JsonNode result = new ObjectMapper().readTree(json.toFile());
    assertEquals("A, ours", result.at("/cases/1/case").asText(), result.toString());
    assertEquals(0, result.at("/cases/1/unfinished/median").asDouble(), result.toString());
    assertEquals(3, result.at("/further").size(), result.toString());
    assertTrue(Files.readString(page).contains("## How long matching takes"));
    assertTrue(Files.readString(latencies).endsWith("</svg>\n"));
    assertTrue(Files.readString(completions).contains("gates"));
  }

  /** The system counts processor time in ticks of 10 ms, more than so short a round may take. */
  @Test
  void generator_measuresItselfOpenAndClosed() throws Exception {
    JsonNode cases = program.run("generator", "--rate", "500").at("/cases");

    assertEquals("open loop", cases.at("/0/case").asText());
    assertTrue(cases.at("/0/requests_per_s/median").asDouble() > 0, cases.toString());
    assertTrue(cases.at("/0/cpu_us/median").isNumber(), cases.toString());
    assertTrue(cases.toString().contains("\"closed loop\""), cases.toString());
  }

  /** How near the figures are, and what else slows a closed loop, is for an idle machine to say. */
  @Test
  void stall_showsTheStallInOpenLoops() throws Exception {
    Path json = folder.resolve("stall.json");
    int status =
        program.execute(
            "stall",
            "--stall=0.2",
            "--every=1",
            "--periods=2",
            "--work=" + folder.resolve("work"),
            "--json=" + json);

    assertTrue(Set.of(0, 4).contains(status), program::output);
    JsonNode cases = new ObjectMapper().readTree(json.toFile()).at("/cases");
    assertEquals(3, cases.size());
    assertEquals(190, cases.at("/0/expected_p99_ms/median").asDouble(), 1e-6);
    for (int open = 0; open < 2; open++) {
      double p99 = cases.at("/" + open + "/response_p99_ms/median").asDouble();
      assertTrue(p99 > 0.95 * 190, cases.toString());
    }
    assertEquals("closed loop", cases.at("/2/case").asText(), cases.toString());
  }

  @Test
  void forms_whenNoCaseHasTheName_saysSo() {
    int status =
        program.execute("forms", "--work", folder.toString(), "--case", "nothing of the kind");

    assertEquals(1, status);
    assertTrue(program.output().contains("nothing of the kind"), program.output());
  }
}
