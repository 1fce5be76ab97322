package io.pipelane.config;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The loader that puts the configuration together: a flag wins over a variable, over the file, over
 * the default.
 */
public final class ConfigLoader {
  /** What Kubernetes and container links put into the environment for a service of our name. */
  private static final Pattern FOREIGN_VARIABLE =
      Pattern.compile(
          "PIPELANE_(\\w+_)?(SERVICE_(HOST|PORT)(_\\w+)?|PORT_\\d+_(TCP|UDP|SCTP)_\\w+)");

  /** What such a variable's value is, where it is one. */
  private static final Pattern FOREIGN_ADDRESS = Pattern.compile("(?s)(tcp|udp|sctp)://.*");

  private static final Pattern REFERENCE = Pattern.compile("\\$\\{(\\w+)(?::-([^}]*))?}");

  private final Map<String, String> environment;
  private final Map<String, WrittenValue> written = new HashMap<>();

  private ConfigLoader(Map<String, String> environment) {
    this.environment = environment;
  }

  /**
   * Loads a configuration.
   *
   * @param file a YAML file, if there is one
   * @param environment all environment variables; those that begin with PIPELANE_ are settings
   * @param flags values by dotted key
   * @throws ConfigException when anything in it cannot be used
   */
  public static EffectiveConfig load(
      @Nullable Path file, Map<String, String> environment, Map<String, String> flags) {
    ConfigLoader loader = new ConfigLoader(environment);
    if (file != null) {
      loader.addFile(file);
    }
    loader.addVariables();
    loader.addFlags(flags);
    return loader.finish();
  }

  private void addFile(Path file) {
    ConfigFile.read(file).forEach(this::add);
  }

  private void addVariables() {
    Map<String, String> keys = new TreeMap<>();
    Settings.all().forEach(setting -> keys.put(setting.variable(), setting.key()));
    new TreeMap<>(environment)
        .forEach(
            (name, value) -> {
              String key = keys.get(name);
              if (!name.startsWith(Settings.VARIABLE_PREFIX) || isForeign(name, value)) {
                return;
              }
              if (key != null) {
                add(key, new WrittenValue(value, "variable " + name));
              } else if (!FOREIGN_VARIABLE.matcher(name).matches()) {
                throw new ConfigException(
                    "variable "
                        + name
                        + " is not a setting"
                        + Suggestion.forUnknown(name, keys.keySet()));
              }
            });
  }

  /**
   * Whether a variable is of a service or a linked container, whatever that one's name is: no
   * setting is an address of this form, none has {@code _ENV_} in its name, and a name that begins
   * with a slash is a container's.
   */
  private static boolean isForeign(String name, String value) {
    return FOREIGN_ADDRESS.matcher(value).matches()
        || name.contains("_ENV_")
        || (name.endsWith("_NAME") && value.startsWith("/"));
  }

  private void addFlags(Map<String, String> flags) {
    flags.forEach((key, value) -> add(key, new WrittenValue(value, "flag --" + key)));
  }

  private void add(String key, WrittenValue value) {
    if (Settings.find(key).isEmpty()) {
      List<String> keys = Settings.all().stream().map(Setting::key).toList();
      throw new ConfigException(
          value.origin() + ": the key " + key + " is unknown" + Suggestion.forUnknown(key, keys));
    }
    written.put(key, value);
  }

  private EffectiveConfig finish() {
    Map<Setting, Object> values = new HashMap<>();
    List<EffectiveConfig.Line> lines = new ArrayList<>();
    for (Setting setting : Settings.all()) {
      WrittenValue value =
          written.getOrDefault(setting.key(), new WrittenValue(setting.standard(), "default"));
      if (setting.type().isPath()) {
        value = new WrittenValue(expand(value.text()), value.origin());
      }
      boolean unset = setting.optional() && !written.containsKey(setting.key());
      Object read = unset ? Optional.empty() : read(setting, value);
      values.put(setting, setting.optional() && !unset ? Optional.of(read) : read);
      lines.add(new EffectiveConfig.Line(setting, value));
    }
    PipelaneConfig config = Settings.assemble(setting -> get(values, setting));
    EffectiveConfig effective = new EffectiveConfig(config, lines);
    Consistency.check(effective);
    return effective;
  }

  private static Object get(Map<Setting, Object> values, Setting setting) {
    return Objects.requireNonNull(values.get(setting));
  }

  private static Object read(Setting setting, WrittenValue value) {
    try {
      return setting.read(value.text().strip());
    } catch (IllegalArgumentException e) {
      throw new ConfigException(
          "%s: %s = \"%s\" is not allowed; allowed is %s"
              .formatted(
                  value.origin(), setting.key(), QuotedUrl.of(value.text()), setting.allowed()),
          e);
    }
  }

  /** Replaces {@code ${NAME:-otherwise}} and a leading {@code ~} as a shell would. */
  private String expand(String path) {
    String text =
        REFERENCE
            .matcher(path)
            .replaceAll(
                match -> Matcher.quoteReplacement(variable(match.group(1), match.group(2))));
    return text.equals("~") || text.startsWith("~/")
        ? variable("HOME", System.getProperty("user.home")) + text.substring(1)
        : text;
  }

  private String variable(String name, @Nullable String otherwise) {
    String value = environment.get(name);
    return value == null || value.isEmpty() ? (otherwise == null ? "" : otherwise) : value;
  }
}
