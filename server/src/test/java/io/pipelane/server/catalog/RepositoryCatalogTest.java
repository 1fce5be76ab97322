package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.IncomingVersion;
import io.pipelane.modelstore.repository.IncomingVersion.Form;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.PipelaneServer;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import io.pipelane.switcher.memory.account.Ledger;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The catalogue of a server that imports real models, one at a time. */
@Timeout(60)
class RepositoryCatalogTest extends RepositoryCatalogFixture {
  private static final String UNLOADED = "it was unloaded; load it to put it in service again";

  @Test
  void unload_beforeItsFirstImport_standsUntilLoad() throws Exception {
    write("queued", 2);
    write("another", 3);
    try (PipelaneServer server = start()) {
      server.catalog().unload("queued").join();
      server.imports().join();
      assertEquals(new Entry("queued", "1", State.UNAVAILABLE, UNLOADED), entry(server, "queued"));
      assertEquals(State.READY, entry(server, "another").state());
      server.catalog().load("queued").join();
      assertEquals(State.READY, entry(server, "queued").state());
    }
  }

  @Test
  void uploadedVersion_isRolledForwardAndBack() throws Exception {
    Path file = cache.resolve("uploaded.onnx");
    TestModels.write(TestModels.chain(2, 32, 9), file);
    try (PipelaneServer server = start("true")) {
      server.imports().join();
      ModelCatalog catalog = server.catalog();
      try (IncomingVersion incoming = catalog.receive("small", "2", Form.MODEL)) {
        incoming.write(ByteBuffer.wrap(Files.readAllBytes(file)));
        incoming.finish(Optional.empty());
      }
      assertEquals(1, catalog.resolve("small", "").version().version());
      catalog.load("small").join();
      assertEquals(2, catalog.resolve("small", "").version().version());
      catalog.delete("small", "2").join();
      assertEquals(1, catalog.resolve("small", "").version().version());
      assertFalse(Files.exists(repository.resolve("small/2")));
      assertEquals(Status.NOT_FOUND, failure(catalog.delete("small", "2")).status());
      catalog.delete("small", "1").join();
      assertThrows(StatusException.class, () -> catalog.resolve("small", ""));
      assertEquals(List.of(), catalog.index());
      server.switcher().verify();
    }
  }

  @Test
  void nothingIsUploadedOrDeleted_unlessAllowed() throws Exception {
    Path ensemble = Files.createDirectories(repository.resolve("all")).resolve("pipelane.yaml");
    Files.writeString(
        ensemble, "ensemble: {steps: [{model: small, inputs: {x: i}, outputs: {y: o}}]}");
    try (PipelaneServer server = start()) {
      ModelCatalog catalog = server.catalog();
      for (List<String> asked :
          List.of(List.of("small", "2"), List.of("small", "x"), List.of("all", "1"))) {
        String name = asked.getFirst();
        String version = asked.getLast();
        StatusException refused =
            assertThrows(StatusException.class, () -> catalog.receive(name, version, Form.MODEL));
        assertEquals(Status.UNIMPLEMENTED, refused.status(), refused::getMessage);
        assertEquals(Status.UNIMPLEMENTED, failure(catalog.delete(name, version)).status());
      }
    }
  }

  @Test
  void reload_ofARefusedFile_keepsTheOldInService() throws Exception {
    try (PipelaneServer server = start()) {
      server.imports().join();
      ServedModel before = server.catalog().resolve("small", "");
      TestModels.write(TestModels.chain(2, 1024, 4), file("small"));
      assertEquals(Status.INSUFFICIENT_MEMORY, failure(server.catalog().load("small")).status());
      assertEquals(before, server.catalog().resolve("small", ""));
      assertTrue(
          server.switcher().memory().weights().entries().stream()
              .allMatch(entry -> entry.weightBytes() < 32 << 10));
      Files.writeString(file("small"), "no model");
      assertEquals(Status.INVALID_ARGUMENT, failure(server.catalog().load("small")).status());
      assertEquals(before, server.catalog().resolve("small", ""));
      server.switcher().evict(before.version());
      server.switcher().verify();
    }
  }

  @Test
  void load_withAConfiguration_standsUntilTheNextLoad() throws Exception {
    try (PipelaneServer server = start()) {
      server.imports().join();
      String config = "{\"max_batch_size\": 8, \"model_warmup\": [{\"name\": \"w\"}]}";
      server.catalog().load("small", withConfig(config)).join();
      ModelVersion version = server.catalog().resolve("small", "").version();
      assertEquals(8, server.catalog().declared(version).message().getMaxBatchSize());
      Throwable refused = failure(server.catalog().load("small", withConfig("{")));
      assertTrue(String.valueOf(refused.getMessage()).contains("configuration"));
      assertEquals(State.READY, entry(server, "small").state());
      server.catalog().load("small").join();
      assertEquals(0, server.catalog().declared(version).message().getMaxBatchSize());
    }
  }

  @Test
  void load_ofARefusedNewVersion_saysSoAndKeepsTheOldInService() throws Exception {
    Files.writeString(repository.resolve("small/config.pbtxt"), "backend: \"onnxruntime\"\n");
    try (PipelaneServer server = start()) {
      server.imports().join();
      ServedModel before = server.catalog().resolve("small", "");
      Files.createDirectories(repository.resolve("small/2"));
      Files.writeString(repository.resolve("small/2/model.onnx"), "no model");
      assertEquals(Status.INVALID_ARGUMENT, failure(server.catalog().load("small")).status());
      assertEquals(before, server.catalog().resolve("small", ""));
      TestModels.write(TestModels.chain(2, 32, 5), repository.resolve("small/2/model.onnx"));
      server.catalog().load("small").join();
      assertEquals(2, server.catalog().resolve("small", "").version().version());
      assertThrows(StatusException.class, () -> server.catalog().resolve("small", "1"));
      server.switcher().verify();
    }
  }

  @Test
  void load_withFiles_standsUntilTheNextLoad() throws Exception {
    Map<String, byte[]> files = Map.of("3/model.onnx", carriedModel());
    try (PipelaneServer server = start("true")) {
      server.imports().join();
      ModelCatalog catalog = server.catalog();
      catalog.load("small", withFiles(files)).join();
      assertEquals(3, catalog.resolve("small", "").version().version());
      assertThrows(StatusException.class, () -> catalog.resolve("small", "1"));
      catalog.load("small", withFiles(files)).join();
      assertEquals(1, drafts());
      catalog.load("elsewhere", withFiles(files)).join();
      assertEquals(3, catalog.resolve("elsewhere", "").version().version());
      assertEquals(2, drafts());
      catalog.load("small").join();
      assertEquals(1, catalog.resolve("small", "").version().version());
      assertEquals(1, drafts());
      server.switcher().verify();
    }
    assertEquals(0, drafts());
  }

  @Test
  void load_withFilesThatAreNone_leavesTheModelAsItIs() throws Exception {
    byte[] bytes = {1, 2, 3};
    try (PipelaneServer server = start("true")) {
      server.imports().join();
      ModelCatalog catalog = server.catalog();
      for (String path : List.of("../1/model.onnx", "/etc/x", "..", "", "model.txt", "1\\m")) {
        StatusException refused = failure(catalog.load("small", withFiles(Map.of(path, bytes))));
        assertEquals(Status.INVALID_ARGUMENT, refused.status(), path);
      }
      assertEquals(
          Status.INVALID_ARGUMENT,
          failure(catalog.load("small", withFiles(Map.of("1/model.onnx", bytes)))).status());
      assertEquals(State.READY, entry(server, "small").state());
      assertEquals(
          Status.INVALID_ARGUMENT,
          failure(catalog.load("../x", withFiles(Map.of("1/m", bytes)))).status());
      assertEquals(0, drafts());
    }
    try (PipelaneServer server = start()) {
      StatusException refused =
          failure(server.catalog().load("small", withFiles(Map.of("1/model.onnx", bytes))));
      assertEquals(Status.UNIMPLEMENTED, refused.status());
    }
  }

  @Test
  void modelToBeWarm_isResidentWhenItIsReady() throws Exception {
    write("warm", 1);
    Files.writeString(repository.resolve("warm/pipelane.yaml"), "warm-up: true\n");
    try (PipelaneServer server = start()) {
      server.imports().join();
      assertEquals(State.READY, entry(server, "warm").state());
      for (Ledger.Entry entry : server.switcher().memory().weights().entries()) {
        boolean warm = entry.model().model().equals("warm");
        assertEquals(warm, entry.residentBytes() > 0, entry.toString());
      }
      assertEquals(2, server.switcher().memory().weights().entries().size());
    }
  }

  @Test
  void unknownModels_areNotFound() {
    try (PipelaneServer server = start()) {
      ModelCatalog catalog = server.catalog();
      assertEquals(Status.NOT_FOUND, failure(catalog.load("nobody")).status());
      StatusException misnamed = failure(catalog.load("no/body"));
      assertEquals(Status.INVALID_ARGUMENT, misnamed.status());
      assertTrue(
          String.valueOf(misnamed.getMessage()).contains("letters, digits"), misnamed::toString);
      server.imports().join();
      assertEquals(
          Status.NOT_FOUND,
          assertThrows(StatusException.class, () -> catalog.unload("nobody")).status());
      assertEquals(
          Status.NOT_FOUND,
          assertThrows(StatusException.class, () -> catalog.resolve("small", "2")).status());
    }
  }

  @Test
  void severalProblems_ofOneModel_areAllTold() throws Exception {
    Files.createDirectories(repository.resolve("broken/1"));
    Files.createDirectories(repository.resolve("broken/2"));
    String reason = "version 1: it has no model.onnx; version 2: it has no model.onnx";
    try (PipelaneServer server = start()) {
      assertEquals(reason, entry(server, "broken").reason());
      StatusException refused = failure(server.catalog().load("broken"));
      assertEquals(Status.INVALID_ARGUMENT, refused.status());
      assertEquals(reason, refused.getMessage());
      assertEquals(reason, entry(server, "broken").reason());
    }
  }

  @Test
  void loadsAndUnloads_atTheSameTime_leaveOneOfTheirOutcomes() {
    try (PipelaneServer server = start()) {
      ModelCatalog catalog = server.catalog();
      List<CompletableFuture<Void>> loads = new ArrayList<>();
      List<CompletableFuture<Void>> unloads = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        loads.add(catalog.load("small"));
        unloads.add(catalog.unload("small"));
      }
      unloads.forEach(CompletableFuture::join);
      for (CompletableFuture<Void> load : loads) {
        // An unload right behind a load may leave it nothing to report.
        String failure =
            load.handle((_, error) -> error == null ? "" : String.valueOf(error)).join();
        assertTrue(failure.isEmpty() || failure.contains("unloaded"), failure);
      }
      catalog.load("small").join();
      server.imports().join();
      Entry small = entry(server, "small");
      assertEquals(State.READY, small.state());
      assertEquals("", small.reason());
      server.switcher().verify();
    }
  }
}
