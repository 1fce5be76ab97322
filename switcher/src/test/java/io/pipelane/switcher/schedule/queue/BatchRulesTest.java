package io.pipelane.switcher.schedule.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.modelstore.Batching;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Padding;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.repository.BatchingOptions;
import io.pipelane.modelstore.repository.BatchingOptions.Mode;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class BatchRulesTest {
  private static List<Integer> sizes(Mode mode, List<Integer> preferred, Integer... most) {
    Plan plan =
        new Plan(
            "structure",
            List.of(),
            List.of(),
            List.of(),
            List.of(),
            List.of(),
            List.of(new Plan.Segment(0, 1, 1)),
            1,
            0,
            0,
            Padding.notApplicable("not tried"),
            new Batching(Batching.Verdict.AGREES, "tried"),
            false,
            0,
            false,
            List.of());
    ImportedModel model =
        new ImportedModel(new ModelVersion("m", 1), plan, Path.of("none"), Path.of("none"));
    Optional<Integer> maxRows = List.of(most).stream().findFirst();
    return BatchRules.of(model, new BatchingOptions(mode, preferred, Duration.ZERO, false, maxRows))
        .sizes();
  }

  @Test
  void sizes_areBoundedByTheOwnersLimit() {
    assertEquals(List.of(2, 4, 8), sizes(Mode.ALWAYS, List.of()));
    assertEquals(List.of(2, 4), sizes(Mode.ALWAYS, List.of(), 4));
    assertEquals(List.of(2, 4), sizes(Mode.ALWAYS, List.of(), 7));
    assertEquals(List.of(3), sizes(Mode.ALWAYS, List.of(1, 3, 16), 8));
    assertEquals(List.of(), sizes(Mode.ALWAYS, List.of(), 1));
    assertEquals(List.of(), sizes(Mode.NEVER, List.of(), 4));
  }
}
