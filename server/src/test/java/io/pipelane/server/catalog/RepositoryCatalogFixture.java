package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.TestDevices;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.PipelaneServer;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A server's catalogue that imports real models, one at a time. */
abstract class RepositoryCatalogFixture {
  @TempDir static Path cache;
  @TempDir Path repository;

  @BeforeEach
  void addModel() throws IOException {
    write("small", 1);
  }

  void write(String model, int seed) throws IOException {
    TestModels.write(TestModels.chain(2, 32, seed), file(model));
  }

  Path file(String model) {
    return repository.resolve(model + "/1/model.onnx");
  }

  PipelaneServer start() {
    return start("false");
  }

  PipelaneServer start(String upload) {
    return PipelaneServer.start(
        PipelaneConfig.of(
            TestDevices.settings(
                Map.of(
                    "switching.share-structures",
                    "always",
                    "repository.path",
                    repository.toString(),
                    "repository.cache",
                    cache.toString(),
                    "device.memory",
                    "4MiB",
                    "repository.upload",
                    upload,
                    "import.concurrency",
                    "1",
                    "server.http-port",
                    "0"))));
  }

  static Entry entry(PipelaneServer server, String model) {
    return server.catalog().index().stream()
        .filter(entry -> entry.name().equals(model))
        .findFirst()
        .orElseThrow();
  }

  static StatusException failure(CompletableFuture<Void> operation) {
    return assertInstanceOf(
        StatusException.class, assertThrows(CompletionException.class, operation::join).getCause());
  }

  static LoadOptions withConfig(String config) {
    return new LoadOptions(Optional.empty(), Optional.of(config), Map.of());
  }

  static LoadOptions withFiles(Map<String, byte[]> files) {
    return withFiles("{}", files);
  }

  /** All versions that the files have. */
  static LoadOptions withAllOf(Map<String, byte[]> files) {
    return withFiles("{\"version_policy\": {\"all\": {}}}", files);
  }

  private static LoadOptions withFiles(String config, Map<String, byte[]> files) {
    return new LoadOptions(Optional.empty(), Optional.of(config), files);
  }

  /** A model of other content than those in the repository, for a load to bring. */
  byte[] carriedModel() throws IOException {
    return Files.readAllBytes(
        TestModels.write(TestModels.chain(2, 64, 9), cache.resolve("carried.onnx")));
  }

  /** Folders beside the models, where files are that came with a load. */
  long drafts() throws IOException {
    try (Stream<Path> files = Files.list(repository)) {
      return files.filter(file -> file.getFileName().toString().startsWith(".")).count();
    }
  }
}
