package io.pipelane.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.fail;

import io.pipelane.config.value.ByteSize;
import io.pipelane.config.value.DeviceSelection;
import io.pipelane.config.value.DurationText;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ValueParsingTest {
  private static final String ALPHABET =
      "0123456789 .,:-+/~${}%_#\"'\\\t\nkKmMgGiIbBsScudap\u0663\u00e9";

  @Test
  void duration_ofEachUnit_isRead() {
    assertEquals(Duration.ofMillis(500), DurationText.parse("500ms"));
    assertEquals(Duration.ofSeconds(30), DurationText.parse(" 30 s "));
    assertEquals(Duration.ofMinutes(5), DurationText.parse("5M"));
    assertEquals(Duration.ofHours(2), DurationText.parse("2h"));
    assertEquals(Duration.ofDays(999_999_999), DurationText.parse("999999999d"));
  }

  @Test
  void duration_withoutUnitOrFractional_isRefused() {
    for (String text : List.of("", "5", "s", "1.5s", "-1s", "5 min", "1000000000s")) {
      assertThrows(IllegalArgumentException.class, () -> DurationText.parse(text), text);
    }
  }

  @Test
  void device_ofEachForm_isRead() {
    assertEquals(new DeviceSelection.Cpu(), DeviceSelection.parse("CPU"));
    assertEquals(new DeviceSelection.Cpu(List.of(1, 0)), DeviceSelection.parse("cpu:1,0"));
    assertEquals(List.of("cpu:1", "cpu:0"), new DeviceSelection.Cpu(List.of(1, 0)).names());
    assertEquals("cpu:1,0", DeviceSelection.parse("cpu:1,0").toString());
    assertEquals(new DeviceSelection.Auto(), DeviceSelection.parse("auto"));
    assertEquals(new DeviceSelection.Cuda(List.of(0)), DeviceSelection.parse("cuda"));
    assertEquals(new DeviceSelection.Cuda(List.of(2, 0)), DeviceSelection.parse("cuda:2,0"));
    for (String text :
        List.of(
            "",
            "gpu",
            "cuda:",
            "cuda:1,",
            "cuda:1,1",
            "cuda:-1",
            "cuda:100",
            "cpu:",
            "cpu:0,0",
            "cpu:0,cuda:1")) {
      assertThrows(IllegalArgumentException.class, () -> DeviceSelection.parse(text), text);
    }
  }

  @Test
  void size_text_isReadBack() {
    Random random = new Random(7);
    for (int i = 0; i < 1_000; i++) {
      long bytes = random.nextLong(1, 1L << 53) >>> random.nextInt(53);
      assertEquals(bytes, ByteSize.parse(bytes + "B").bytes());
    }
    assertThrows(IllegalArgumentException.class, () -> ByteSize.parse("9999999999TiB"));
    assertThrows(IllegalArgumentException.class, () -> ByteSize.parse("1.5GiB"));
  }

  /** Whatever is written, the answer is a configuration or a ConfigException that names the key. */
  @Test
  void anySetting_givenAnyText_isReadOrRefusedByName() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    List<Setting> settings = Settings.all();
    for (int i = 0; i < 20_000; i++) {
      Setting setting = settings.get(random.nextInt(settings.size()));
      String text = mutate(setting.standard(), random);
      try {
        PipelaneConfig.of(Map.of(setting.key(), text));
      } catch (ConfigException e) {
        if (!e.getMessage().contains(setting.key())) {
          fail("seed " + seed + ": " + setting.key() + " = <" + text + "> gave: " + e, e);
        }
      } catch (RuntimeException e) {
        fail("seed " + seed + ": " + setting.key() + " = <" + text + "> gave: " + e, e);
      }
    }
  }

  private static String mutate(String standard, Random random) {
    StringBuilder text = new StringBuilder(random.nextInt(4) == 0 ? "" : standard);
    for (int edits = random.nextInt(6); edits >= 0; edits--) {
      int place = random.nextInt(text.length() + 1);
      if (random.nextBoolean() && place < text.length()) {
        text.deleteCharAt(place);
      } else {
        text.insert(place, ALPHABET.charAt(random.nextInt(ALPHABET.length())));
      }
    }
    return text.toString();
  }
}
