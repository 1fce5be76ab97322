package io.pipelane.loadgen.request;

import java.util.Arrays;
import java.util.List;

/**
 * The conversion of a picture's brightness into a number: {@code (brightness / 255 - mean) /
 * deviation}, for red, green and blue.
 */
public record Pixels(List<Double> mean, List<Double> deviation) {
  /** From 0 to 1. */
  public static final Pixels UNIT = parse("0:1");

  public Pixels {
    mean = List.copyOf(mean);
    deviation = List.copyOf(deviation);
    if (deviation.contains(0.0)) {
      throw new IllegalArgumentException("a deviation of pixels must not be 0");
    }
  }

  /**
   * Reads {@code MEAN:DEVIATION}, each one number or three with commas between them.
   *
   * @throws IllegalArgumentException when it is something else
   */
  public static Pixels parse(String text) {
    String[] parts = text.split(":", -1);
    if (parts.length != 2) {
      throw new IllegalArgumentException(
          "--pixels: \"" + text + "\" is not MEAN:DEVIATION, like 0.5:0.5");
    }
    return new Pixels(colours(text, parts[0]), colours(text, parts[1]));
  }

  private static List<Double> colours(String text, String part) {
    String[] numbers = part.split(",", -1);
    if (numbers.length != 1 && numbers.length != 3) {
      throw new IllegalArgumentException("--pixels: \"" + text + "\" needs one number or three");
    }
    try {
      List<Double> read = Arrays.stream(numbers).map(Double::valueOf).toList();
      return read.size() == 3 ? read : List.of(read.getFirst(), read.getFirst(), read.getFirst());
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("--pixels: \"" + text + "\" holds no numbers", e);
    }
  }

  float value(int colour, int brightness) {
    return (float) ((brightness / 255.0 - mean.get(colour)) / deviation.get(colour));
  }
}
