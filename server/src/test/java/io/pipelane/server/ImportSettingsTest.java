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
    assertEquals(true, readsInPlace(Map.of()));
    assertEquals(false, readsInPlace(Map.of("switching.read-in-place", "false")));
    assertEquals(false, readsInPlace(Map.of("workers.isolation", "process")));
  }

  private static boolean readsInPlace(Map<String, String> values) {
    return PipelaneServer.importSettings(
            PipelaneConfig.of(values), Path.of("library"), "1", ImportTarget.processor())
        .cuts()
        .readInPlace();
  }
}
