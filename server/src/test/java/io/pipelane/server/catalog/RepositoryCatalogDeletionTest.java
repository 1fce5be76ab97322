package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.PipelaneServer;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Versions that are deleted while a server has their model, and what comes in for them. */
@Timeout(60)
class RepositoryCatalogDeletionTest extends RepositoryCatalogFixture {
  @Test
  void delete_ofAVersionThatCameWithItsLoad_takesItAway() throws Exception {
    byte[] bytes = carriedModel();
    try (PipelaneServer server = start("true")) {
      server.imports().join();
      ModelCatalog catalog = server.catalog();
      catalog.load("elsewhere", withFiles(Map.of("3/model.onnx", bytes))).join();
      assertEquals(1, drafts());
      catalog.delete("elsewhere", "3").join();
      assertThrows(StatusException.class, () -> catalog.resolve("elsewhere", ""));
      assertEquals(1, catalog.index().size());
      assertEquals(0, drafts());
      assertEquals(Status.NOT_FOUND, failure(catalog.delete("elsewhere", "3")).status());
      server.switcher().verify();
    }
  }

  @Test
  void delete_ofTheOnlyVersionInService_bringsInTheNextLowerOneFirst() throws Exception {
    Files.writeString(repository.resolve("small/config.pbtxt"), "backend: \"onnxruntime\"\n");
    TestModels.write(TestModels.chain(2, 32, 5), repository.resolve("small/2/model.onnx"));
    try (PipelaneServer server = start("true")) {
      server.imports().join();
      ModelCatalog catalog = server.catalog();
      assertEquals(2, catalog.resolve("small", "").version().version());
      CompletableFuture<Void> deletion = catalog.delete("small", "2");
      while (!deletion.isDone()) {
        assertTrue(catalog.resolve("small", "").version().version() > 0);
      }
      deletion.join();
      assertEquals(1, catalog.resolve("small", "").version().version());
      assertEquals(List.of(new Entry("small", "1", State.READY, "")), unnoted(catalog.index()));
      server.switcher().verify();
    }
  }

  private static List<Entry> unnoted(List<Entry> entries) {
    return entries.stream()
        .map(entry -> new Entry(entry.name(), entry.version(), entry.state(), entry.reason()))
        .toList();
  }

  @Test
  void delete_thatFails_leavesTheVersionInService() throws Exception {
    try (PipelaneServer server = start("true")) {
      server.imports().join();
      ModelCatalog catalog = server.catalog();
      ServedModel before = catalog.resolve("small", "");
      Path away = Files.move(repository.resolve("small"), cache.resolve("away"));
      assertEquals(Status.NOT_FOUND, failure(catalog.delete("small", "1")).status());
      assertEquals(before, catalog.resolve("small", ""));
      Files.move(away, repository.resolve("small"));
      catalog.delete("small", "1").join();
      assertEquals(List.of(), catalog.index());
    }
  }

  @Test
  void delete_ofOneOfTheLatest_bringsInTheNextLowerOneFirst() throws Exception {
    Files.writeString(
        repository.resolve("small/config.pbtxt"),
        "backend: \"onnxruntime\" version_policy { latest { num_versions: 2 } }\n");
    for (int version = 2; version <= 4; version++) {
      writeVersion(version);
    }
    try (PipelaneServer server = start("true")) {
      server.imports().join();
      ModelCatalog catalog = server.catalog();
      assertEquals(List.of(3L, 4L), versions(catalog));
      catalog.delete("small", "4").join();
      assertEquals(List.of(2L, 3L), versions(catalog));
      writeVersion(5);
      catalog.delete("small", "2").join();
      assertEquals(List.of(3L), versions(catalog), "nobody has asked for version 5");
      catalog.delete("small", "5").join();
      catalog.delete("small", "3").join();
      assertEquals(List.of(1L), versions(catalog));
      server.switcher().verify();
    }
  }

  @Test
  void delete_ofOneOfAll_leavesUploadsToTheirLoad() throws Exception {
    writeVersion(2);
    writeVersion(3);
    try (PipelaneServer server = start("true")) {
      server.imports().join();
      ModelCatalog catalog = server.catalog();
      catalog.delete("small", "1").join();
      writeVersion(1);
      catalog.delete("small", "3").join();
      assertEquals(List.of(2L), versions(catalog), "nobody has asked for the new version 1");
    }
  }

  /** Its content counts only for as long as a version that came with the load does. */
  @Test
  void delete_ofTheLastVersionThatCameWithItsLoad_bringsInWhatTheFolderHas() throws Exception {
    byte[] bytes = carriedModel();
    writeVersion(2);
    try (PipelaneServer server = start("true")) {
      server.imports().join();
      ModelCatalog catalog = server.catalog();
      ServedModel ofTheFolder = catalog.resolve("small", "");
      Map<String, byte[]> two = Map.of("2/model.onnx", bytes, "1/model.onnx", bytes);
      String one = "{\"version_policy\": {\"specific\": {\"versions\": [1]}}}";
      catalog.load("small", withConfig(one)).join();
      assertEquals(List.of(1L), versions(catalog));
      catalog.load("small", withFiles(Map.of("3/model.onnx", bytes))).join();
      assertEquals(List.of(3L), versions(catalog));
      CompletableFuture<Void> deletion = catalog.delete("small", "3");
      while (!deletion.isDone()) {
        assertTrue(catalog.resolve("small", "").version().version() > 0);
      }
      deletion.join();
      assertEquals(ofTheFolder, catalog.resolve("small", ""));
      assertEquals(0, drafts());

      catalog.load("small", withFiles(two)).join();
      catalog.delete("small", "1").join();
      assertEquals(List.of(2L), versions(catalog));
      assertEquals(1, drafts());

      catalog.unload("small").join();
      catalog.delete("small", "2").join();
      assertThrows(StatusException.class, () -> catalog.resolve("small", ""), "it was unloaded");
      assertEquals(0, drafts());
      server.switcher().verify();
    }
  }

  /** What was refused answers nobody, so it keeps nothing of the folder out. */
  @Test
  void delete_ofTheLastThatAnswersOfALoad_bringsInTheFolderBesideThoseThatWereRefused()
      throws Exception {
    LoadOptions ofAll =
        withAllOf(Map.of("3/model.onnx", carriedModel(), "4/model.onnx", new byte[] {1, 2, 3}));
    try (PipelaneServer server = start("true")) {
      server.imports().join();
      ModelCatalog catalog = server.catalog();
      ServedModel ofTheFolder = catalog.resolve("small", "");
      for (boolean answered : List.of(true, false)) {
        if (!answered) {
          catalog.unload("small").join();
        }
        StatusException _ = failure(catalog.load("small", ofAll));
        assertEquals(answered ? List.of(1L, 3L) : List.of(3L), versions(catalog));
        catalog.delete("small", "3").join();
        assertEquals(List.of(new Entry("small", "1", State.READY, "")), unnoted(catalog.index()));
        assertEquals(0, drafts());
      }
      assertEquals(ofTheFolder, catalog.resolve("small", ""));
      server.switcher().verify();
    }
  }

  @Test
  void delete_ofTheLastVersionOfALoad_saysWhatIsWrongWithTheFolder() throws Exception {
    Map<String, byte[]> files = Map.of("3/model.onnx", carriedModel());
    try (PipelaneServer server = start("true")) {
      server.imports().join();
      ModelCatalog catalog = server.catalog();
      catalog.load("small", withFiles(files)).join();
      Files.writeString(repository.resolve("small/config.pbtxt"), "no such thing {");
      catalog.delete("small", "3").join();
      Entry entry = entry(server, "small");
      assertEquals(State.UNAVAILABLE, entry.state());
      assertTrue(entry.reason().contains("config.pbtxt"), entry::reason);
      assertEquals(1, catalog.index().size());
      assertEquals(0, drafts());
    }
  }

  /** It was loaded before, and still answers: a deletion takes out what it names. */
  @Test
  void delete_ofAVersionOfALoad_leavesOthersThatAnswerWhereTheFolderHasNothing() throws Exception {
    byte[] bytes = carriedModel();
    LoadOptions partly =
        withAllOf(Map.of("4/model.onnx", bytes, "5/model.onnx", new byte[] {1, 2, 3}));
    try (PipelaneServer server = start("true")) {
      server.imports().join();
      ModelCatalog catalog = server.catalog();
      catalog.load("small", withFiles(Map.of("3/model.onnx", bytes))).join();
      StatusException _ = failure(catalog.load("small", partly));
      assertEquals(List.of(3L, 4L), versions(catalog));
      Files.writeString(repository.resolve("small/config.pbtxt"), "no such thing {");
      catalog.delete("small", "4").join();
      assertEquals(List.of(3L), versions(catalog));
      server.switcher().verify();
    }
  }

  @Test
  void delete_ofTheLastVersion_leavesNothingInTheIndex() throws Exception {
    Map<String, byte[]> files = Map.of("1/model.onnx", carriedModel());
    try (PipelaneServer server = start("true")) {
      server.imports().join();
      ModelCatalog catalog = server.catalog();
      catalog.load("small", withFiles(files)).join();
      catalog.delete("small", "1").join();
      assertEquals(List.of(), catalog.index());
      assertEquals(0, drafts());
    }
  }

  private void writeVersion(int version) throws IOException {
    Path file = repository.resolve("small/" + version + "/model.onnx");
    TestModels.write(TestModels.chain(2, 32, version), file);
  }

  private static List<Long> versions(ModelCatalog catalog) {
    return catalog.resolve("small", "").versions();
  }
}
