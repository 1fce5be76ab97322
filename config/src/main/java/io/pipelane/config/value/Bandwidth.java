package io.pipelane.config.value;

import java.util.Locale;
import java.util.Optional;

/** A transfer rate, written as {@code 2GB/s}; {@code unlimited} is the absence of a limit. */
public record Bandwidth(long bytesPerSecond) {
  public static final Bandwidth UNLIMITED = new Bandwidth(Long.MAX_VALUE);

  public Bandwidth {
    if (bytesPerSecond <= 0) {
      throw new IllegalArgumentException("a bandwidth must be positive: " + bytesPerSecond);
    }
  }

  /**
   * Reads a rate.
   *
   * @throws IllegalArgumentException when the text is neither {@code unlimited} nor a size per
   *     second
   */
  public static Bandwidth parse(String text) {
    String form = text.strip().toLowerCase(Locale.ROOT);
    if (form.equals("unlimited")) {
      return UNLIMITED;
    }
    if (!form.endsWith("/s")) {
      throw new IllegalArgumentException(
          "\"" + text + "\" is not a bandwidth; write a size per second like 2GB/s, or unlimited");
    }
    return new Bandwidth(ByteSize.parse(form.substring(0, form.length() - 2)).bytes());
  }

  /** The limit in bytes per second, empty when there is none. */
  public Optional<Long> limit() {
    return bytesPerSecond == Long.MAX_VALUE ? Optional.empty() : Optional.of(bytesPerSecond);
  }

  @Override
  public String toString() {
    return limit().map(limit -> new ByteSize(limit) + "/s").orElse("unlimited");
  }
}
