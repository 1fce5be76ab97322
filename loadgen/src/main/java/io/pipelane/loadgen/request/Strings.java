package io.pipelane.loadgen.request;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The settings of made-up strings.
 *
 * @param length of random ones, in bytes, all of them lower-case letters
 * @param text what every string is instead; null for random ones
 */
public record Strings(int length, @Nullable String text) {
  /** As long as perf_analyzer's. */
  public static final Strings USUAL = new Strings(128, null);

  private static final int MAXIMUM_LENGTH = 1 << 20;

  public Strings {
    if (length < 0 || length > MAXIMUM_LENGTH) {
      throw new IllegalArgumentException(
          "strings have between 0 and " + MAXIMUM_LENGTH + " bytes: " + length);
    }
  }

  /** The bytes of the text; null where strings are random. */
  byte @Nullable [] bytes() {
    return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
  }
}
