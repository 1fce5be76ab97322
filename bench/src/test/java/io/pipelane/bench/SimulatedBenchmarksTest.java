package io.pipelane.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The programs that need no device, from their flags to their files. */
@Timeout(120)
class SimulatedBenchmarksTest {
  @TempDir private Path folder;

  @Test
  void trace_comparesPoliciesAndDrawsThem() throws Exception {
    Path plot = folder.resolve("trace.svg");
    Path snapshot = folder.resolve("snapshot.svg");
    JsonNode cases =
        simulate(
            "trace",
            "--jobs=12",
            "--traces=2",
            "--simulated-only",
            "--svg=" + plot,
            "--snapshot=" + snapshot);

    assertEquals(8, cases.size());
    assertEquals("srtf", cases.at("/1/case").asText());
    assertTrue(cases.at("/1/fifo_to_completion/median").asDouble() >= 1, cases.toString());
    assertEquals(3.19, cases.at("/5/fifo_to_completion/median").asDouble(), 0.01);
    assertTrue(Files.readString(plot).endsWith("</svg>\n"));
    assertTrue(Files.readString(snapshot).endsWith("</svg>\n"));
  }

  @Test
  void groups_arePackedAndRunInTurn() throws Exception {
    JsonNode cases = simulate("groups", "--jobs=20", "--iterations=20", "--simulated-only");

    assertEquals(4, cases.size());
    assertTrue(cases.at("/2/fifo_to_pack/median").asDouble() > 1, cases.toString());
  }

  @Test
  void fairness_simulated_sharesAreEqual() throws Exception {
    JsonNode cases = simulate("fairness", "--simulated-only");

    assertEquals(5, cases.size());
    assertEquals(1.0 / 3, cases.at("/2/least_share/median").asDouble(), 0.02);
    assertEquals(1.0 / 3, cases.at("/2/most_share/median").asDouble(), 0.02);
    assertEquals(1, cases.at("/2/all_share/median").asDouble(), 1e-6);
  }

  @Test
  void packing_simulated_needsOneDevice() throws Exception {
    JsonNode cases = simulate("packing", "--simulated-only");

    assertEquals(1, cases.at("/0/devices/median").asDouble(), cases.toString());
    assertTrue(cases.at("/0/added_ms/median").asDouble() < 0.5, cases.toString());
  }

  @Test
  void slo_admitsWhatCanBeAnsweredInTime() throws Exception {
    JsonNode cases =
        simulate(
            "slo",
            "--models=20",
            "--memory=2GiB",
            "--seconds=8",
            "--load=0.5,3",
            "--simulated-only");

    assertEquals(2, cases.size());
    assertEquals(100, cases.at("/1/attainment_percent/median").asDouble(), 1, cases.toString());
    assertTrue(cases.at("/1/admitted_percent/median").asDouble() < 60, cases.toString());
  }

  /** Two rates alone and with a share of the multiprocessors, as bench sharing writes them. */
  private static final String SHARING =
      """
      {"cases": [
        {"case": "100/s, alone", "mean_ms": {"median": 3.0}, "activity_percent": {"median": 10},
         "utilization_percent": {"median": 20}},
        {"case": "200/s, alone", "mean_ms": {"median": 3.6}, "activity_percent": {"median": 20},
         "utilization_percent": {"median": 40}},
        {"case": "offline alone, shares 50 %", "offline_per_s": {"median": 100}},
        {"case": "100/s, shares 50 %", "mean_to_alone": {"median": 1.5, "together": 1.2},
         "offline_per_s": {"median": 80}, "idle_share": {"median": 0.8},
         "activity_percent": {"median": 40}, "utilization_percent": {"median": 90}},
        {"case": "200/s, shares 50 %", "mean_to_alone": {"median": 1.2},
         "offline_per_s": {"median": 60}, "idle_share": {"median": 0.6},
         "activity_percent": {"median": 50}, "utilization_percent": {"median": 90}},
        {"case": "cut off: not measured"}
      ]}
      """;

  @Test
  void cluster_goesByWhatWasMeasured() throws Exception {
    Path sharing = Files.writeString(folder.resolve("sharing.json"), SHARING);
    JsonNode cases =
        simulate("cluster", "--devices=12", "--cluster=A", "--rounds=1", "--sharing=" + sharing);

    assertEquals(7, cases.size(), "ways that were not measured are left out: " + cases);
    assertEquals("A, ours", cases.at("/1/case").asText());
    double slowdown = cases.at("/1/mean_to_alone/median").asDouble();
    assertTrue(slowdown > 1 && slowdown < 1.2, "jobs are there at times only: " + cases);
    assertTrue(cases.at("/1/oversold/median").asDouble() > 0.5, cases.toString());
  }

  @Test
  void plot_drawsWhatAnotherProgramWrote() throws Exception {
    Path sharing = Files.writeString(folder.resolve("sharing.json"), SHARING);
    Path svg = folder.resolve("plot.svg");
    BenchProgram program = new BenchProgram(folder);

    int status =
        program.execute(
            "plot",
            "--from=" + sharing,
            "--column=mean_to_alone",
            "--case=.*/s, .*",
            "--title=Online mean",
            "--svg=" + svg);

    assertEquals(0, status, program::output);
    String drawn = Files.readString(svg);
    assertTrue(drawn.contains(">100/s<") && drawn.contains(">shares 50 %<"), drawn);
  }

  /** As the paper draws what offline work and online work have of each other by share. */
  @Test
  void plot_acrossANumberOfTheNames_drawsALineForWhatIsLeftOfThem() throws Exception {
    Path sharing =
        Files.writeString(
            folder.resolve("shares.json"),
            """
            {"cases": [
              {"case": "100/s, alone", "p99_to_alone": {"median": 1}},
              {"case": "100/s, shares 10 %", "p99_to_alone": {"median": 1.1},
                "oversold_share": {"median": 0.2}},
              {"case": "100/s, shares 100 %", "p99_to_alone": {"median": 2},
                "oversold_share": {"median": 0.8}},
              {"case": "250/s, shares 10 %", "p99_to_alone": {"median": 1.2}}]}
            """);
    Path svg = folder.resolve("plot.svg");
    List<String> arguments =
        List.of(
            "plot",
            "--from=" + sharing,
            "--column=p99_to_alone,oversold_share",
            "--title=By share",
            "--svg=" + svg);

    BenchProgram program = new BenchProgram(folder);
    int status = program.execute(with(arguments, "--across=shares (\\d+) %"));

    assertEquals(0, status, program::output);
    String drawn = Files.readString(svg);
    assertTrue(drawn.contains(">100/s, p99_to_alone<"), drawn);
    assertTrue(drawn.contains(">100/s, oversold_share<"), drawn);
    assertTrue(drawn.contains(">250/s, p99_to_alone<"), drawn);
    assertTrue(drawn.contains(">100</text>"), "up to all of the multiprocessors: " + drawn);
    assertEquals(3, drawn.split("<polyline", -1).length - 1, drawn);
    assertEquals(1, program.execute(with(arguments, "--across=no number")));
    assertTrue(program.output().contains("one group"), program.output());
    assertEquals(1, program.execute(with(arguments, "--across=gates (\\d+) %")));
    assertTrue(program.output().contains("no case of"), program.output());
  }

  private static String[] with(List<String> arguments, String more) {
    List<String> all = new ArrayList<>(arguments);
    all.add(more);
    return all.toArray(String[]::new);
  }

  private JsonNode simulate(String... arguments) throws Exception {
    Path json = folder.resolve("simulated.json");
    List<String> all = new ArrayList<>(List.of(arguments));
    all.add("--json=" + json);
    BenchProgram program = new BenchProgram(folder);
    assertEquals(0, program.execute(all.toArray(String[]::new)), program::output);
    return new ObjectMapper().readTree(json.toFile()).at("/cases");
  }
}
