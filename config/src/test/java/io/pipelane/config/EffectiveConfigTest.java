package io.pipelane.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EffectiveConfigTest {
  @TempDir private Path folder;

  @Test
  void toYaml_saysWhereChangedValuesCameFrom() {
    String yaml =
        ConfigLoader.load(
                null,
                Map.of("PIPELANE_DEVICE_LANES", "2"),
                Map.of("server.http-port", "9000", "repository.path", "/models"))
            .toYaml();
    assertTrue(yaml.contains("\n  host: 127.0.0.1\n  http-port: 9000  "), yaml);
    assertTrue(yaml.contains("# flag --server.http-port (default 8000)\n"), yaml);
    assertTrue(yaml.contains("# variable PIPELANE_DEVICE_LANES (default 0)\n"), yaml);
    assertTrue(yaml.contains("# flag --repository.path\n"), yaml);
    assertTrue(yaml.contains("\n  # library: not set\n"), yaml);
  }

  @Test
  void toYaml_readBack_isTheSameConfiguration() throws IOException {
    EffectiveConfig written =
        ConfigLoader.load(
            null,
            Map.of(),
            Map.of(
                "server.host", "::1",
                "device.kind", "cuda:0,1",
                "repository.path", "odd: \"name\" #1\\",
                "repository.cache", "- cache:",
                "hosts.prefix", "~",
                "jobs.folder", "Null"));
    Path file = Files.writeString(folder.resolve("effective.yaml"), written.toYaml());
    EffectiveConfig read = ConfigLoader.load(file, Map.of(), Map.of());
    assertEquals(written.config(), read.config(), written::toYaml);
  }

  @Test
  void template_isTheReadyMadeFile() throws IOException {
    assertEquals(
        ConfigTemplate.render(),
        Files.readString(Path.of("pipelane.yaml")),
        "the table of settings has changed: bin/pipelane config --template > config/pipelane.yaml");
  }

  @Test
  void template_uncommented_isTheDefaults() throws IOException {
    String values =
        ConfigTemplate.render()
            .lines()
            .filter(line -> !line.startsWith("#"))
            .map(line -> line.matches("  # [a-z-]+: \\S.*#.*") ? line.replaceFirst("# ", "") : line)
            .reduce("", (text, line) -> text + line + "\n");
    Path file = Files.writeString(folder.resolve("template.yaml"), values);
    EffectiveConfig read = ConfigLoader.load(file, Map.of(), Map.of());
    assertEquals(PipelaneConfig.defaults(), read.config());
    assertTrue(values.contains("\n  http-port: 8000  "), values);
  }
}
