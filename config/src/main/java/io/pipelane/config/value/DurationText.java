package io.pipelane.config.value;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The written form of durations: a whole number and a unit, like {@code 500ms} or {@code 5m}. */
public final class DurationText {
  private static final Pattern FORM = Pattern.compile("(\\d{1,9})\\s*(ms|s|m|h|d)");

  private DurationText() {}

  /**
   * Reads a duration.
   *
   * @throws IllegalArgumentException when the text is not a number with a unit
   */
  public static Duration parse(String text) {
    Matcher matcher = FORM.matcher(text.strip().toLowerCase(Locale.ROOT));
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "\"" + text + "\" is not a duration; write a number and a unit, like 500ms, 30s or 5m");
    }
    ChronoUnit unit =
        switch (matcher.group(2)) {
          case "ms" -> ChronoUnit.MILLIS;
          case "s" -> ChronoUnit.SECONDS;
          case "m" -> ChronoUnit.MINUTES;
          case "h" -> ChronoUnit.HOURS;
          default -> ChronoUnit.DAYS;
        };
    return Duration.of(Long.parseLong(matcher.group(1)), unit);
  }
}
