package io.pipelane.config.section;

import static io.pipelane.config.section.SectionValues.DEFAULTS;
import static io.pipelane.config.section.SectionValues.changed;
import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.ConfigException;
import io.pipelane.config.value.Percentages;
import io.pipelane.config.value.ProcessorList;
import io.pipelane.config.value.Thresholds;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The section of online and offline work: by default, every value changed, and what is refused. */
class SharingSectionTest {
  @Test
  void offlineProcessOfItsOwn_andAShareOfTheMultiprocessors_excludeEachOther() {
    ConfigException refusal =
        assertThrows(
            ConfigException.class,
            () -> changed(Map.of("workers.offline", "own", "sharing.multiprocessors", "measured")));
    assertTrue(String.valueOf(refusal.getMessage()).contains("workers.offline"));
  }

  @Test
  void sharing_defaults() {
    assertEquals(
        new SharingConfig(
            SharingConfig.Protection.GATES,
            40,
            10,
            Optional.empty(),
            SharingConfig.Multiprocessors.OFF,
            10,
            new Percentages(List.of(5)),
            Duration.ofMillis(100),
            100,
            80,
            Duration.ofSeconds(1),
            Thresholds.OFF,
            Thresholds.OFF,
            new Thresholds(60, 50, 40),
            new Thresholds(95, 97, 99),
            new Thresholds(5, 10, 40),
            new Thresholds(95, 97, 99),
            new Thresholds(98, 95, 80)),
        DEFAULTS.sharing());
  }

  @Test
  void sharing_everyValueChanged() {
    assertEquals(
        new SharingConfig(
            SharingConfig.Protection.NONE,
            25,
            5,
            Optional.of(new ProcessorList(List.of(0, 1, 2, 7))),
            SharingConfig.Multiprocessors.ALWAYS,
            30,
            new Percentages(List.of(7, 15, 60)),
            Duration.ofMillis(5),
            90,
            70,
            Duration.ofSeconds(3),
            new Thresholds(80, 90, 100),
            new Thresholds(70, 80, 90),
            Thresholds.OFF,
            new Thresholds(50, 60, 70),
            new Thresholds(1, 2, 3),
            new Thresholds(4, 5, 6),
            new Thresholds(99, 98, 97)),
        changed(
                Map.ofEntries(
                    entry("sharing.protection", "none"),
                    entry("sharing.offline-memory-percent", "25"),
                    entry("sharing.offline-nice", "5"),
                    entry("sharing.offline-processors", "7,0-2"),
                    entry("sharing.multiprocessors", "always"),
                    entry("sharing.multiprocessors-percent", "30"),
                    entry("sharing.other-multiprocessors-percent", "7/15/60"),
                    entry("sharing.period", "5ms"),
                    entry("sharing.target-load-percent", "90"),
                    entry("sharing.clock-threshold-percent", "70"),
                    entry("sharing.overlimit-period", "3s"),
                    entry("sharing.utilization", "80/90/100"),
                    entry("sharing.activity", "70/80/90"),
                    entry("sharing.clock", "off"),
                    entry("sharing.memory", "50/60/70"),
                    entry("sharing.memory-pressure", "1/2/3"),
                    entry("sharing.host-memory", "4/5/6"),
                    entry("sharing.attainment", "99/98/97")))
            .sharing());
  }

  /** Nothing would hold offline work while online work alone is measured. */
  @Test
  void sharing_measuredShareWithoutGates_isRefusedAndTheMessageSaysWhatToSet() {
    Map<String, String> settings =
        Map.of("sharing.protection", "none", "sharing.multiprocessors", "measured");
    ConfigException refusal = assertThrows(ConfigException.class, () -> changed(settings));
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains("sharing.protection: gates"), message);
    assertTrue(message.contains("sharing.multiprocessors: always or off"), message);
  }

  @ParameterizedTest
  @ValueSource(strings = {"90", "90/95", "90/80/95", "90/95/101", "1000/1/1", "-1/-1/-1", "on"})
  void sharing_impossibleThresholds_areRefused(String text) {
    assertThrows(ConfigException.class, () -> changed(Map.of("sharing.memory", text)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sharing.utilization",
        "sharing.activity",
        "sharing.memory",
        "sharing.memory-pressure",
        "sharing.host-memory"
      })
  void sharing_thresholdsOfWhatIsWorseTheMoreThereIsFall_areRefused(String key) {
    requireRefused(key, "99/97/95", "rise");
    changed(Map.of(key, "97/97/97"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"sharing.clock", "sharing.attainment"})
  void sharing_thresholdsOfWhatIsWorseTheLessThereIsRise_areRefused(String key) {
    requireRefused(key, "95/97/99", "fall");
    changed(Map.of(key, "97/97/97"));
  }

  private static void requireRefused(String key, String text, String order) {
    ConfigException error = assertThrows(ConfigException.class, () -> changed(Map.of(key, text)));
    String message = String.valueOf(error.getMessage());
    assertTrue(message.contains(key), message);
    assertTrue(message.contains(text), message);
    assertTrue(message.contains("must " + order), message);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-1", "3-1", "0-9999", "a", "1,,2", "1-"})
  void sharing_impossibleProcessors_areRefused(String text) {
    assertThrows(ConfigException.class, () -> changed(Map.of("sharing.offline-processors", text)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "0", "5/101", "20/5", "5/5", "1/2/3/4/5", "5,20", "a", "5/"})
  void sharing_impossibleSizes_areRefused(String text) {
    assertThrows(
        ConfigException.class,
        () -> changed(Map.of("sharing.other-multiprocessors-percent", text)));
  }

  @Test
  void sharing_sizes_areThoseThatCanBeChosen() {
    String rule = "sharing.multiprocessors";
    String others = "sharing.other-multiprocessors-percent";
    assertEquals(List.of(), DEFAULTS.sharing().shareSizes());
    assertEquals(List.of(10), changed(Map.of(rule, "always")).sharing().shareSizes());
    assertEquals(List.of(5, 10), changed(Map.of(rule, "measured")).sharing().shareSizes());
    assertEquals(
        List.of(5, 10, 20),
        changed(Map.of(rule, "measured", others, "5/20")).sharing().shareSizes());
    assertEquals(
        List.of(10, 15), changed(Map.of(rule, "measured", others, "10/15")).sharing().shareSizes());
    assertEquals(
        List.of(10), changed(Map.of(rule, "measured", others, "off")).sharing().shareSizes());
  }

  @Test
  void sharing_processors_areWrittenAsTheyAreRead() {
    String text = changed(Map.of("sharing.offline-processors", "5,0-2,3")).sharing().toString();
    assertTrue(text.contains("0-3,5"), text);
  }
}
