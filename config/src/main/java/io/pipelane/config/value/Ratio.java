package io.pipelane.config.value;

/**
 * A share of a whole.
 *
 * @param value from 0 to 1
 */
public record Ratio(double value) {
  /**
   * @throws IllegalArgumentException for a value out of range
   */
  public Ratio {
    if (!(value >= 0 && value <= 1)) {
      throw new IllegalArgumentException(value + " does not lie within 0 to 1");
    }
  }

  public static Ratio parse(String text) {
    return new Ratio(Double.parseDouble(text));
  }
}
