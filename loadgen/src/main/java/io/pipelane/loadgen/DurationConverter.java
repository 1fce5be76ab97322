package io.pipelane.loadgen;

import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A converter of spans of time like {@code 500ms}, {@code 10s} or {@code 2m}. */
final class DurationConverter implements ITypeConverter<Duration> {
  private static final Pattern FORM = Pattern.compile("(\\d{1,9}(?:\\.\\d{1,6})?)(ms|s|m|h)");

  @Override
  public Duration convert(String text) {
    Matcher matcher = FORM.matcher(text.strip().toLowerCase(Locale.ROOT));
    if (!matcher.matches()) {
      throw new TypeConversionException(
          "\"" + text + "\" is not a span of time; write a number and a unit, like 10s or 500ms");
    }
    double millis =
        switch (matcher.group(2)) {
          case "ms" -> 1;
          case "s" -> 1_000;
          case "m" -> 60_000;
          default -> 3_600_000;
        };
    return Duration.ofNanos(Math.round(Double.parseDouble(matcher.group(1)) * millis * 1e6));
  }
}
