package io.pipelane.config;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConfigFileTest {
  @TempDir Path folder;

  @Test
  void read_brokenYaml_namesTheLineInTheWordsOfAUser() throws IOException {
    Path broken = Files.writeString(folder.resolve("broken.yaml"), "http:\n  port: '80\n");
    String refusal =
        String.valueOf(
            assertThrows(ConfigException.class, () -> ConfigFile.read(broken)).getMessage());
    assertTrue(refusal.startsWith(broken + " is not valid YAML: "), refusal);
    assertTrue(refusal.contains("line 2"), refusal);
    assertFalse(refusal.contains("Source"), refusal);
  }
}
