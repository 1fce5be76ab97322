package io.pipelane.config.value;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A number of bytes, written as {@code 128MiB}, {@code 2GB} or {@code 4096}. */
public record ByteSize(long bytes) implements Comparable<ByteSize> {
  private static final Pattern FORM =
      Pattern.compile("(\\d{1,18})\\s*(B|KB|MB|GB|TB|KIB|MIB|GIB|TIB)?");

  public ByteSize {
    if (bytes < 0) {
      throw new IllegalArgumentException("a size cannot be negative: " + bytes);
    }
  }

  public static ByteSize ofMebibytes(long mebibytes) {
    return new ByteSize(Math.multiplyExact(mebibytes, 1L << 20));
  }

  /**
   * Reads a size.
   *
   * @throws IllegalArgumentException when the text is not a number with an optional unit
   */
  public static ByteSize parse(String text) {
    Matcher matcher = FORM.matcher(text.strip().toUpperCase(Locale.ROOT));
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "\"" + text + "\" is not a size; write a number and a unit, like 128MiB or 2GB");
    }
    String unit = matcher.group(2) == null ? "B" : matcher.group(2);
    long factor =
        switch (unit) {
          case "B" -> 1L;
          case "KB" -> 1_000L;
          case "MB" -> 1_000_000L;
          case "GB" -> 1_000_000_000L;
          case "TB" -> 1_000_000_000_000L;
          case "KIB" -> 1L << 10;
          case "MIB" -> 1L << 20;
          case "GIB" -> 1L << 30;
          default -> 1L << 40;
        };
    try {
      return new ByteSize(Math.multiplyExact(Long.parseLong(matcher.group(1)), factor));
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException("\"" + text + "\" is more than 8 EiB", e);
    }
  }

  @Override
  public int compareTo(ByteSize other) {
    return Long.compare(bytes, other.bytes);
  }

  /** The size in the largest binary unit that keeps it readable, like {@code 115.2MiB}. */
  @Override
  public String toString() {
    if (bytes < 1 << 10) {
      return bytes + "B";
    }
    int step = Math.min(4, (63 - Long.numberOfLeadingZeros(bytes)) / 10);
    double value = bytes / (double) (1L << (10 * step));
    String number =
        value == Math.rint(value)
            ? Long.toString((long) value)
            : String.format(Locale.ROOT, "%.1f", value);
    return number + " KMGT".charAt(step) + "iB";
  }
}
