package io.pipelane.config;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import java.util.List;

/** A configuration and where each of its values came from. */
public final class EffectiveConfig {
  private static final String PLAIN_SCALAR = "[\\w./~][\\w./~:,+ -]*";

  /** What YAML takes for no value. */
  private static final String NULL = "(?i)null|~";

  private final PipelaneConfig config;
  private final List<Line> lines;

  EffectiveConfig(PipelaneConfig config, List<Line> lines) {
    this.config = config;
    this.lines = List.copyOf(lines);
  }

  /** A setting and what it was given. */
  record Line(Setting setting, WrittenValue value) {
    String text() {
      return value.text().isEmpty() ? setting.otherwise() : value.text();
    }

    boolean isDefault() {
      return value.origin().equals("default");
    }
  }

  public PipelaneConfig config() {
    return config;
  }

  /** How a setting came to its value: {@code key = value (origin)}. */
  String describe(String key) {
    return lines.stream()
        .filter(line -> line.setting.key().equals(key))
        .map(line -> key + " = " + line.text() + " (" + line.value.origin() + ")")
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException(key));
  }

  /** The configuration as a file that would load it, with the origin of what is not default. */
  public String toYaml() {
    StringBuilder yaml = new StringBuilder();
    for (Settings.Group group : Settings.groups()) {
      yaml.append(group.name()).append(":\n");
      lines.stream()
          .filter(line -> group.settings().contains(line.setting))
          .forEach(line -> yaml.append(toYaml(group, line)).append('\n'));
    }
    return yaml.toString();
  }

  private static String toYaml(Settings.Group group, Line line) {
    String name = line.setting.key().substring(group.name().length() + 1);
    String text = line.value.text();
    if (text.isEmpty()) {
      return "  # " + name + ": not set" + described(": ", line.setting.unset());
    }
    String entry = "  " + name + ": " + scalar(text);
    if (line.isDefault()) {
      return entry;
    }
    String otherwise = line.setting.otherwise();
    return "%-40s # %s%s"
        .formatted(
            entry, line.value.origin(), otherwise.isEmpty() ? "" : " (default " + otherwise + ")");
  }

  private static String described(String before, String text) {
    return text.isEmpty() ? "" : before + text;
  }

  private static String scalar(String text) {
    boolean plain =
        text.matches(PLAIN_SCALAR)
            && !text.matches(NULL)
            && !text.contains(": ")
            && !text.endsWith(":");
    return plain
        ? text
        : '"' + new String(JsonStringEncoder.getInstance().quoteAsString(text)) + '"';
  }
}
