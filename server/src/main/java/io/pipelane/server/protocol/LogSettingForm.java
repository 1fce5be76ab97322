package io.pipelane.server.protocol;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.observability.LogSetting;
import io.pipelane.server.observability.LogSetting.Format;
import java.util.LinkedHashMap;
import java.util.Map;

/** The logging extension's settings as the protocol has them: booleans, numbers, texts by name. */
public final class LogSettingForm {
  private static final String FORMAT = "log_format";
  private static final String STANDARD = "default";

  private LogSettingForm() {}

  /** What is set: each value a Boolean, a Long or a String. */
  public static Map<String, Object> describe(LogSetting setting) {
    Map<String, Object> values = new LinkedHashMap<>();
    values.put("log_file", "");
    values.put("log_info", setting.information());
    values.put("log_warning", setting.warnings());
    values.put("log_error", setting.errors());
    values.put("log_verbose_level", (long) setting.verboseLevel());
    values.put(FORMAT, setting.format() == Format.STANDARD ? STANDARD : setting.format().name());
    return values;
  }

  /**
   * A setting with what is said of it.
   *
   * @throws StatusException when something cannot be set
   */
  public static LogSetting change(LogSetting now, Map<String, Object> values) {
    boolean errors = now.errors();
    boolean warnings = now.warnings();
    boolean information = now.information();
    int verboseLevel = now.verboseLevel();
    Format format = now.format();
    for (Map.Entry<String, Object> entry : values.entrySet()) {
      String name = entry.getKey();
      Object value = entry.getValue();
      switch (name) {
        case "log_error" -> errors = flag(name, value);
        case "log_warning" -> warnings = flag(name, value);
        case "log_info" -> information = flag(name, value);
        case "log_verbose_level" -> verboseLevel = level(name, value);
        case FORMAT -> format = format(value);
        case "log_file" -> checkNoFile(value);
        default -> throw Json.invalid("there is no log setting \"" + Json.shorten(name) + '"');
      }
    }
    return new LogSetting(errors, warnings, information, verboseLevel, format);
  }

  private static boolean flag(String name, Object value) {
    if (value instanceof Boolean flag) {
      return flag;
    }
    throw Json.wrong(name, "true or false", value);
  }

  private static int level(String name, Object value) {
    if (value instanceof Long level && level >= 0 && level <= Integer.MAX_VALUE) {
      return level.intValue();
    }
    throw Json.wrong(name, "a whole number, 0 or more", value);
  }

  private static Format format(Object value) {
    if (value.equals(STANDARD)) {
      return Format.STANDARD;
    }
    if (value.equals(Format.ISO8601.name())) {
      return Format.ISO8601;
    }
    throw Json.wrong(FORMAT, "\"default\" or \"ISO8601\"", value);
  }

  private static void checkNoFile(Object value) {
    if (!value.equals("")) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          "log_file cannot be set: clients do not name the server's files; its log is standard"
              + " error");
    }
  }
}
