package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.modelstore.importing.ImportTarget;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** How a configuration has models imported. */
class ImportSettingsTest {
  @Test
  void readInPlace_onTheProcessor_unlessItIsOffOrModelsRunInProcesses() {
    ImportTarget processor = ImportTarget.processor();
    assertEquals(true, readsInPlace(processor, Map.of()));
    assertEquals(false, readsInPlace(processor, Map.of("switching.read-in-place", "none")));
    assertEquals(false, readsInPlace(processor, Map.of("workers.isolation", "process")));
  }

  @Test
  void readInPlace_onAGpu_whereItIsWanted() {
    ImportTarget gpu = ImportTarget.cuda(0, true, "some GPU");
    assertEquals(false, readsInPlace(gpu, Map.of()));
    Map<String, String> all = Map.of("switching.read-in-place", "all");
    assertEquals(true, readsInPlace(gpu, all));
    assertEquals(true, readsInPlace(ImportTarget.processor(), all));
    Map<String, String> processes =
        Map.of("switching.read-in-place", "all", "workers.isolation", "process");
    assertEquals(true, readsInPlace(gpu, processes));
  }

  private static boolean readsInPlace(ImportTarget target, Map<String, String> values) {
    return CatalogSettings.imports(PipelaneConfig.of(values), Path.of("library"), "1", target)
        .cuts()
        .readInPlace();
  }
}
