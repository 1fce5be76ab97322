package io.pipelane.loadgen.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.pipelane.loadgen.experiment.Experiment;
import io.pipelane.loadgen.experiment.MeasuredRun;
import io.pipelane.loadgen.experiment.Runs;
import io.pipelane.loadgen.experiment.Step;
import io.pipelane.loadgen.server.ServerDescription;
import io.pipelane.loadgen.settings.LoadMode;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ResultJsonTest {
  private static final List<String> FIGURES = List.of("p50", "p99", "max");

  private static JsonNode run(MeasuredRun run) {
    Context context =
        new Context(
            "test",
            Instant.EPOCH,
            List.of(),
            Map.of(),
            Map.of(),
            1,
            URI.create("http://127.0.0.1:8000"),
            ServerDescription.UNKNOWN,
            Machine.current(),
            Build.current(),
            Duration.ofMillis(1),
            ModelClasses.NONE,
            1);
    Step step = new Step(new LoadMode.Closed(1), List.of(run));
    return new ResultJson()
        .tree(context, new Experiment(List.of(step), List.of()))
        .at("/steps/0/runs/0");
  }

  @Test
  void tree_noAnswers_noLatencies() {
    JsonNode run = run(Runs.of());

    for (String times :
        List.of("/total/response_time_us", "/models/0/service_time_us", "/slices/0")) {
      JsonNode latency = run.at(times);
      assertEquals(0, latency.path("count").asLong(-1), latency::toString);
      FIGURES.forEach(name -> assertTrue(latency.path(name).isNull(), times + " " + latency));
    }
    assertTrue(run.at("/total/response_time_us/mean").isNull(), run::toString);
    assertEquals("[]", run.at("/total/response_curve").toString());
    assertTrue(run.at("/total/attainment").isNull(), run::toString);
  }

  @Test
  void tree_answers_latenciesInMicroseconds() {
    JsonNode run = run(Runs.of(2_000, 2_000));

    for (String times : List.of("/total/response_time_us", "/slices/0")) {
      assertEquals(2, run.at(times).path("count").asLong());
      FIGURES.forEach(name -> assertEquals(2, run.at(times).path(name).asDouble(), 1e-2));
    }
    assertEquals(2, run.at("/total/response_time_us/mean").asDouble(), 1e-2);
    assertTrue(run.at("/total/response_curve").size() > 0, run::toString);
  }
}
