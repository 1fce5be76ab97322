package io.pipelane.modelstore.importing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.SessionSettings.Optimization;
import io.pipelane.runtime.SharedCache;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.CutSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Imports in real processes. */
@Timeout(60)
class ImporterTest {
  private static final Path NATIVES = SharedCache.folder();
  private static final ModelVersion VERSION = new ModelVersion("m", 1);

  @TempDir Path folder;

  @Test
  void importModel_sound_isVerifiedAndCached() throws Exception {
    Path file = model(TestModels.quantized(4, 1));
    ImportedModel imported = importer(Duration.ofSeconds(50)).importModel(file, VERSION);
    assertEquals(4, imported.plan().segments().size());
    assertTrue(
        imported.plan().notes().getFirst().startsWith("verified"),
        imported.plan().notes().toString());
    assertEquals(imported.plan().weightBytes(), Files.size(imported.weights()));

    ImportedModel again = importer(Duration.ZERO).importModel(file, new ModelVersion("n", 2));
    assertEquals(imported.plan(), again.plan());
    assertFalse(imported.content().isEmpty());
    assertEquals(imported.content(), again.content());

    Files.writeString(imported.weights(), "damage");
    StatusException error =
        assertThrows(
            StatusException.class, () -> importer(Duration.ZERO).importModel(file, VERSION));
    assertTrue(
        String.valueOf(error.getMessage()).contains("raise import.timeout"), error.getMessage());
    assertEquals(
        imported.plan(), importer(Duration.ofSeconds(50)).importModel(file, VERSION).plan());
  }

  @Test
  void importModel_byManyAtOnce_buildsOneFolder() throws Exception {
    Path file = model(TestModels.chain(2, TestModels.WIDTH, 1));
    Importer importer = importer(Duration.ofSeconds(50));
    try (ExecutorService threads = Executors.newFixedThreadPool(6)) {
      List<Future<ImportedModel>> results = new ArrayList<>();
      for (int i = 1; i <= 6; i++) {
        ModelVersion version = new ModelVersion("m", i);
        results.add(threads.submit(() -> importer.importModel(file, version)));
      }
      for (Future<ImportedModel> result : results) {
        assertEquals(2, result.get().plan().repacked().size());
      }
    }
    try (Stream<Path> entries = Files.list(folder.resolve("cache/entries"))) {
      assertEquals(1, entries.count());
    }
  }

  @Test
  void importModel_corrupt_isRefusedWithTheReason() throws IOException {
    Path file = Files.createDirectories(folder.resolve("m/1")).resolve("model.onnx");
    Files.write(file, new byte[] {1, 2, 3, 4, 5, 6, 7});
    StatusException error =
        assertThrows(
            StatusException.class,
            () -> importer(Duration.ofSeconds(50)).importModel(file, VERSION));
    assertEquals(Status.INVALID_ARGUMENT, error.status());
    assertTrue(
        String.valueOf(error.getMessage()).startsWith("m/1: model file is not"),
        error.getMessage());
  }

  @Test
  void importModel_processThatCannotStart_isRefusedWithTheLimitOfMemory() throws IOException {
    Path file = model(TestModels.identity());
    Importer importer = importer(ByteSize.ofMebibytes(512));
    StatusException error =
        assertThrows(StatusException.class, () -> importer.importModel(file, VERSION));
    assertEquals(Status.INSUFFICIENT_MEMORY, error.status());
    assertTrue(
        String.valueOf(error.getMessage()).contains("import.memory is 512MiB"), error.getMessage());
  }

  @Test
  void importModel_withTheLeastMemoryThatCanBeSet_isVerified() throws IOException {
    Path file = model(TestModels.quantized(4, 1));
    ImportedModel imported = importer(ByteSize.ofMebibytes(2 << 10)).importModel(file, VERSION);
    assertTrue(imported.plan().notes().getFirst().startsWith("verified"));
  }

  @Test
  void importModel_filesThatChangeMeanwhile_publishesNothing() throws Exception {
    Path file = model(TestModels.chain(2, TestModels.WIDTH, 1));
    Importer importer = importer(Duration.ofSeconds(50));
    Path work = folder.resolve("cache/work");
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<?> change =
          threads.submit(
              () -> {
                while (isEmpty(work)) {
                  LockSupport.parkNanos(100_000);
                }
                return Files.writeString(file.resolveSibling("weights.data"), "w");
              });
      StatusException error =
          assertThrows(StatusException.class, () -> importer.importModel(file, VERSION));
      change.get();
      assertEquals(Status.UNAVAILABLE, error.status());
      assertTrue(
          String.valueOf(error.getMessage()).contains("changed while it was imported"),
          error.getMessage());
    }
    assertTrue(isEmpty(folder.resolve("cache/entries")));
    assertEquals(2, importer.importModel(file, VERSION).plan().repacked().size());
  }

  private static boolean isEmpty(Path folder) throws IOException {
    try (Stream<Path> entries = Files.list(folder)) {
      return entries.findAny().isEmpty();
    }
  }

  private Importer importer(ByteSize memory) throws IOException {
    ImportSettings sound = settings(Duration.ofSeconds(50));
    return Importer.open(
        folder.resolve("cache"),
        new ImportSettings(
            sound.runtimeLibrary(),
            sound.runtimeVersion(),
            sound.optimization(),
            sound.cuts(),
            sound.timeLimit(),
            memory,
            sound.modelSizeLimit()));
  }

  @Test
  void settings_areAskedForEachImport() throws IOException {
    Path file = model(TestModels.chain(2, TestModels.WIDTH, 1));
    AtomicReference<Duration> limit = new AtomicReference<>(Duration.ZERO);
    Importer importer = Importer.open(folder.resolve("cache"), () -> settings(limit.get()), 1);
    assertThrows(StatusException.class, () -> importer.importModel(file, VERSION));
    limit.set(Duration.ofSeconds(50));
    assertEquals(2, importer.importModel(file, VERSION).plan().repacked().size());
  }

  @Test
  void importModel_overSizeOrMissing_isRefusedWithoutAProcess() throws IOException {
    Path file = model(TestModels.chain(2, 512, 1));
    Importer importer = importer(Duration.ZERO);
    StatusException error =
        assertThrows(StatusException.class, () -> importer.importModel(file, VERSION));
    assertEquals(Status.TOO_LARGE, error.status());
    Path missing = file.resolveSibling("other.onnx");
    error = assertThrows(StatusException.class, () -> importer.importModel(missing, VERSION));
    assertNotEquals(Status.TOO_LARGE, error.status());
  }

  private Path model(ModelProto model) throws IOException {
    return TestModels.write(model, folder.resolve("m/1/model.onnx"));
  }

  private Importer importer(Duration timeLimit) throws IOException {
    return Importer.open(folder.resolve("cache"), settings(timeLimit));
  }

  private static ImportSettings settings(Duration timeLimit) {
    return new ImportSettings(
        OrtLibrary.locate(Optional.empty(), NATIVES),
        "1.28.0",
        Optimization.ALL,
        new CutSettings(1, 16),
        timeLimit,
        ByteSize.ofMebibytes(8 << 10),
        ByteSize.ofMebibytes(1));
  }
}
