package io.pipelane.config;

/** The ready-made configuration file: every key with its meaning and its default, commented out. */
public final class ConfigTemplate {
  private static final String HEAD =
      """
      # Configuration of Pipelane. Every line shows a default; remove the # of what you change.
      # A variable (PIPELANE_SERVER_HTTP_PORT=9000) wins over this file,
      # a flag (--server.http-port 9000) over both.
      """;

  private ConfigTemplate() {}

  public static String render() {
    StringBuilder text = new StringBuilder(HEAD);
    for (Settings.Group group : Settings.groups()) {
      text.append("\n# %s.%n%s:\n".formatted(group.about(), group.name()));
      for (Setting setting : group.settings()) {
        String name = setting.key().substring(group.name().length() + 1);
        String unset = setting.unset().isEmpty() ? "" : "; not set: " + setting.unset();
        text.append("  # %s%s.\n".formatted(setting.about(), unset));
        text.append("  # %-39s # %s\n".formatted(name + ":" + value(setting), setting.allowed()));
      }
    }
    return text.toString();
  }

  private static String value(Setting setting) {
    return setting.standard().isEmpty() ? "" : " " + setting.standard();
  }
}
