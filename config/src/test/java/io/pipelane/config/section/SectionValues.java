package io.pipelane.config.section;

import io.pipelane.config.ConfigLoader;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.value.ByteSize;
import java.util.Map;

/** Configurations that tests of sections compare with. */
final class SectionValues {
  static final Map<String, String> ENVIRONMENT = Map.of("HOME", "/home/someone");

  /** When nothing is set. */
  static final PipelaneConfig DEFAULTS = ConfigLoader.load(null, ENVIRONMENT, Map.of()).config();

  private SectionValues() {}

  /** When flags set some values. */
  static PipelaneConfig changed(Map<String, String> flags) {
    return ConfigLoader.load(null, ENVIRONMENT, flags).config();
  }

  static ByteSize size(String text) {
    return ByteSize.parse(text);
  }
}
