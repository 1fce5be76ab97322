package io.pipelane.loadgen.settings;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.Locale;

/** The length of a part of a test. */
public sealed interface Span {
  /** A length of time in words, exactly, like {@code 0.5 s}. */
  static String seconds(Duration duration) {
    BigDecimal seconds = BigDecimal.valueOf(duration.getSeconds());
    return seconds
            .add(BigDecimal.valueOf(duration.getNano(), 9))
            .stripTrailingZeros()
            .toPlainString()
        + " s";
  }

  /** A length of time. */
  record Time(Duration duration) implements Span {
    /** None at all. */
    public static final Time NONE = new Time(Duration.ZERO);

    @Override
    public String toString() {
      return String.format(Locale.ROOT, "%.1f s", duration.toNanos() / 1e9);
    }
  }

  /**
   * A number of requests that have come to an end, well or not. An attempt to connect that fails
   * counts as one, so that the part ends also where the server has gone.
   */
  record Requests(long count) implements Span {
    public Requests {
      if (count < 1) {
        throw new IllegalArgumentException("the number of requests must be positive: " + count);
      }
    }

    @Override
    public String toString() {
      return count + " requests";
    }
  }
}
