package io.pipelane.config;

import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Damaged files are loaded or refused with a ConfigException, nothing else. */
class ConfigFileFuzzTest {
  private static final String FRAGMENTS = ":-#[]{}&*!|>'\"%@`,? \n\t0x~<\u0000\u00ff";

  @TempDir private Path folder;

  @Test
  void load_damagedFile_failsOnlyWithConfigException() throws IOException {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    String good = ConfigTemplate.render().replace("  # ", "  ");
    for (int i = 0; i < 2_000; i++) {
      int start = random.nextInt(good.length());
      StringBuilder text =
          new StringBuilder(good.substring(start, Math.min(good.length(), start + 300)));
      for (int edits = random.nextInt(8); edits >= 0; edits--) {
        text.insert(
            random.nextInt(text.length() + 1),
            FRAGMENTS.charAt(random.nextInt(FRAGMENTS.length())));
      }
      Path file = folder.resolve("fuzz.yaml");
      Files.write(file, text.toString().getBytes(StandardCharsets.ISO_8859_1));
      try {
        ConfigLoader.load(file, Map.of(), Map.of());
      } catch (RuntimeException e) {
        if (!(e instanceof ConfigException)) {
          fail("seed " + seed + ": " + e + " for\n" + text, e);
        }
      }
    }
  }
}
