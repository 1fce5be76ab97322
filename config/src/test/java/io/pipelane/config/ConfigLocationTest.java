package io.pipelane.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConfigLocationTest {
  @TempDir private Path folder = Path.of("");

  @Test
  void of_noFileNamed_isTheSystemsIfThereIsOne() throws IOException {
    Path system = folder.resolve("pipelane.yaml");
    assertNull(ConfigLocation.of(null, system));
    Files.writeString(system, "server:\n  http-port: 9000\n");
    assertEquals(system, ConfigLocation.of(null, system));
    EffectiveConfig loaded =
        ConfigLoader.load(ConfigLocation.of(null, system), Map.of("HOME", "/"), Map.of());
    assertTrue(loaded.toYaml().contains("http-port: 9000"));
    assertTrue(loaded.toYaml().contains(system + " line 2"), "where the value is from is said");
  }

  @Test
  void of_fileNamed_isThatOne() throws IOException {
    Path system = Files.writeString(folder.resolve("pipelane.yaml"), "");
    Path named = folder.resolve("other.yaml");
    assertEquals(named, ConfigLocation.of(named, system));
  }
}
