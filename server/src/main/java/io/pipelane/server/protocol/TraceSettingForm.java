package io.pipelane.server.protocol;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.observability.TraceChange;
import io.pipelane.server.observability.TraceSetting;
import io.pipelane.server.observability.TraceSetting.Level;
import io.pipelane.server.observability.TraceSettings;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The trace extension's settings as the protocol has them: texts by name. No texts at all for a
 * name gives up what was set: a model follows all others again, and these what they were at first.
 */
public final class TraceSettingForm {
  private static final String LEVEL = "trace_level";
  private static final String RATE = "trace_rate";
  private static final String COUNT = "trace_count";

  private TraceSettingForm() {}

  /** What is set; for a model, or for all where that is null. */
  public static Map<String, List<String>> describe(TraceSettings settings, @Nullable String model) {
    TraceSetting setting = model == null ? settings.setting() : settings.setting(model);
    Map<String, List<String>> texts = new LinkedHashMap<>();
    texts.put(LEVEL, List.of(setting.level().name()));
    texts.put(RATE, List.of(Integer.toString(setting.rate())));
    texts.put(COUNT, List.of(Long.toString(setting.count())));
    texts.put("log_frequency", List.of("0"));
    texts.put("trace_file", List.of(""));
    texts.put("trace_mode", List.of("opentelemetry"));
    return texts;
  }

  /**
   * Sets what is said; for a model, or for all where that is null.
   *
   * @throws StatusException when something cannot be set, and nothing is then
   */
  public static void change(
      TraceSettings settings, @Nullable String model, Map<String, List<String>> texts) {
    if (model != null) {
      settings.set(model, change(settings.own(model), TraceChange.NONE, texts));
      return;
    }
    TraceSetting now = settings.setting();
    TraceChange all = change(asChange(now), asChange(settings.initial()), texts);
    settings.set(all.applyTo(now));
  }

  private static TraceChange asChange(TraceSetting setting) {
    return new TraceChange(setting.level(), setting.rate(), setting.count());
  }

  private static TraceChange change(
      TraceChange now, TraceChange givenUp, Map<String, List<String>> texts) {
    Level level = now.level();
    Integer rate = now.rate();
    Long count = now.count();
    for (Map.Entry<String, List<String>> entry : texts.entrySet()) {
      String name = entry.getKey();
      List<String> values = entry.getValue();
      switch (name) {
        case LEVEL -> level = values.isEmpty() ? givenUp.level() : level(values);
        case RATE -> rate = values.isEmpty() ? givenUp.rate() : rate(values);
        case COUNT -> count = values.isEmpty() ? givenUp.count() : count(values);
        case "log_frequency" -> checkFixed(name, values, "0");
        case "trace_file" -> checkFixed(name, values, "");
        case "trace_mode" -> checkFixed(name, values, "opentelemetry");
        default -> throw Json.invalid("there is no trace setting \"" + Json.shorten(name) + '"');
      }
    }
    return new TraceChange(level, rate, count);
  }

  /** The only level of those named; OFF beside another means nothing. */
  private static Level level(List<String> values) {
    Level level = Level.OFF;
    for (String value : values) {
      level =
          switch (value) {
            case "OFF" -> level;
            case "TIMESTAMPS" -> Level.TIMESTAMPS;
            case "TENSORS" ->
                throw new StatusException(
                    Status.UNIMPLEMENTED,
                    "trace_level TENSORS is not served: traces hold no tensors; use TIMESTAMPS");
            default ->
                throw Json.invalid(
                    "trace_level must be OFF or TIMESTAMPS, not \"" + Json.shorten(value) + '"');
          };
    }
    return level;
  }

  private static Integer rate(List<String> values) {
    long rate = number(RATE, values);
    if (rate > Integer.MAX_VALUE) {
      throw Json.invalid(RATE + " must be 1 to " + Integer.MAX_VALUE + ", not " + rate);
    }
    return Math.toIntExact(Math.max(0, rate));
  }

  private static Long count(List<String> values) {
    return number(COUNT, values);
  }

  private static long number(String name, List<String> values) {
    String text = values.size() == 1 ? values.getFirst() : "";
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          name + " must be one whole number, not " + Json.shorten(values.toString()),
          e);
    }
  }

  private static void checkFixed(String name, List<String> values, String only) {
    if (!values.isEmpty() && !values.equals(List.of(only))) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          "%s cannot be set: traces are sent to where the server's configuration says"
              .formatted(name));
    }
  }
}
