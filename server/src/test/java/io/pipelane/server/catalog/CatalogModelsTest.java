package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.VersionChoice;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What is said of models that are not there, or not yet. */
class CatalogModelsTest {
  private final CatalogModels models =
      new CatalogModels(
          name ->
              new CatalogModel(name, VersionChoice.NONE, _ -> List.of(), _ -> Optional.empty()));

  private StatusException refusal(String version) {
    return assertThrows(StatusException.class, () -> models.resolve("m", version));
  }

  private StatusException unknown() {
    return assertThrows(StatusException.class, () -> models.known("m"));
  }

  /** A job that goes on at a start, and whoever asks then, is not told that it is unknown. */
  @Test
  void modelThatIsUnknown_mayComeUntilTheRepositoryIsScanned() {
    StatusException before = refusal("");
    assertEquals(Status.UNAVAILABLE, before.status());
    assertEquals(
        "the repository is still being scanned, and so far there is no model \"m\"",
        before.getMessage());
    assertNotNull(before.retryAfter());
    assertEquals(Status.UNAVAILABLE, unknown().status(), "for what is done with a model, too");
    models.scanned();
    assertEquals(Status.NOT_FOUND, unknown().status());
    StatusException after = refusal("");
    assertEquals(Status.NOT_FOUND, after.status());
    assertNull(after.retryAfter());
  }

  @Test
  void versionThatIsUnknown_mayComeUntilTheRepositoryIsScanned() {
    models.exclusively("m", model -> model.put(1, new VersionEntry.Importing()));
    assertEquals(Status.UNAVAILABLE, refusal("2").status());
    models.scanned();
    assertEquals(Status.NOT_FOUND, refusal("2").status());
  }
}
