package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
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
    return ready(importNote, TritonConfig.NONE);
  }

  private static VersionEntry ready(String importNote, TritonConfig declared) {
    Plan plan =
        new Plan(
            "structure",
            List.of(new TensorSpec("x", TensorType.FP32, Shape.of(-1, -1))),
            List.of(
                new TensorSpec("y", TensorType.FP32, Shape.of(-1, 4)),
                new TensorSpec("hidden", TensorType.FP32, Shape.of(-1, 8))),
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
        declared);
  }

  @Test
  void served_isWhatTheOwnerDeclares() {
    model.put(1, ready("not verified"));
    assertEquals(2, model.resolve("").outputs().size());
    TritonConfig declared =
        TritonConfig.ofJson(
            """
            {"max_batch_size": 8,
             "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [4]}],
             "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [-1]}]}
            """,
            "m");
    model.put(1, ready("not verified", declared));
    ServedModel served = model.resolve("");
    assertEquals(List.of(new TensorSpec("x", TensorType.FP32, Shape.of(-1, 4))), served.inputs());
    assertEquals(List.of(new TensorSpec("y", TensorType.FP32, Shape.of(-1, 4))), served.outputs());
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
  void importing_areThoseThatWhoeverAsksWaitsFor() {
    ModelVersion first = new ModelVersion("m", 1);
    ModelVersion third = new ModelVersion("m", 3);
    model.put(1, new VersionEntry.Importing());
    model.put(3, new VersionEntry.Importing());
    assertEquals(List.of(third, first), model.importing(""));
    assertEquals(List.of(first), model.importing("1"));
    assertEquals(List.of(), model.importing("2"));
    model.choose(new VersionChoice(Optional.empty(), "stable", Map.of("stable", 1L)));
    assertEquals(List.of(first), model.importing(""));
    assertEquals(List.of(first), model.importing("stable"));
    model.put(1, ready("verified"));
    assertEquals(List.of(), model.importing("1"));
  }

  @Test
  void version_isKnown_alsoOutOfService() {
    assertFalse(model.knows(""));
    model.put(1, new VersionEntry.Importing());
    assertTrue(model.knows("") && model.knows("1"));
    assertFalse(model.knows("2") || model.knows("good"));
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

  @Test
  void resolve_whileThereIsNoVersion_saysThatThereIsNoModel() {
    for (String version : List.of("", "1")) {
      StatusException error = assertThrows(StatusException.class, () -> model.resolve(version));
      assertEquals(Status.NOT_FOUND, error.status());
      assertEquals("there is no model \"m\"", error.getMessage());
    }
  }
}
