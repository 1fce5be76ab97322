package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.TritonConfig;
import io.pipelane.modelstore.repository.VersionChoice;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class CatalogModelTest {
  private Optional<String> quarantine = Optional.empty();
  private final CatalogModel model =
      new CatalogModel(
          "m",
          VersionChoice.NONE,
          version -> List.of("not captured: an input is read on the host"),
          version -> quarantine);

  private static VersionEntry ready(String importNote) {
    Plan plan =
        new Plan(
            "structure",
            List.of(),
            List.of(),
            List.of(),
            List.of(new Plan.Segment(0, 1, 1)),
            1,
            0,
            0,
            List.of(importNote));
    Path nowhere = Path.of("nowhere");
    return new VersionEntry.Ready(
        new ImportedModel(new ModelVersion("m", 1), plan, nowhere, nowhere).ofContent("0123"),
        ModelOptions.DEFAULT,
        TritonConfig.NONE);
  }

  @Test
  void index_ofAVersionInService_tellsWhatImportFoundAndHowItRuns() {
    model.put(1, ready("not verified"));
    assertEquals(
        List.of(
            new Entry(
                "m",
                "1",
                State.READY,
                "",
                List.of("not verified", "not captured: an input is read on the host"))),
        model.index().toList());
  }

  @Test
  void version_inQuarantine_isUnavailableWithTheReasonUntilItIsTrustedAgain() {
    model.put(1, ready("not verified"));
    quarantine = Optional.of("it has lost its worker process twice");
    Entry entry = model.index().findFirst().orElseThrow();
    assertEquals(State.UNAVAILABLE, entry.state());
    assertEquals("it has lost its worker process twice", entry.reason());
    for (String version : List.of("", "1")) {
      StatusException error = assertThrows(StatusException.class, () -> model.resolve(version));
      assertEquals(Status.UNAVAILABLE, error.status());
      assertTrue(error.toString().contains("twice"), error.toString());
    }
    quarantine = Optional.empty();
    assertEquals(1, model.resolve("").version().version());
    assertEquals("0123", model.resolve("").content());
  }

  @Test
  void index_ofAVersionOutOfService_tellsNothingOfHowItRuns() {
    model.put(1, new VersionEntry.Importing());
    assertEquals(
        List.of(new Entry("m", "1", State.LOADING, "it is being imported")),
        model.index().toList());
  }
}
