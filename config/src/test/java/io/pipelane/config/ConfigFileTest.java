package io.pipelane.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
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

  private static String refusalOf(Path file) {
    return String.valueOf(
        assertThrows(ConfigException.class, () -> ConfigFile.read(file)).getMessage());
  }

  @Test
  void read_fileThatIsNotThere_saysSo() {
    Path missing = folder.resolve("pipelane.yaml");
    assertEquals("there is no configuration file " + missing, refusalOf(missing));
  }

  @Test
  void read_brokenYaml_namesTheLineInTheWordsOfAUser() throws IOException {
    Path broken = Files.writeString(folder.resolve("broken.yaml"), "http:\n  port: '80\n");
    String refusal = refusalOf(broken);
    assertTrue(refusal.startsWith(broken + " is not valid YAML: "), refusal);
    assertTrue(refusal.contains("line 2"), refusal);
    assertFalse(refusal.contains("Source"), refusal);
  }
}
