package io.pipelane.loadgen.request;

import java.util.List;
import java.util.Map;

/**
 * How requests are filled.
 *
 * @param shapes concrete shapes by input name, or by {@code model/input}; open dimensions of inputs
 *     not named are 1
 * @param intMinimum the least of random integers
 * @param intMaximum the greatest of random integers
 */
public record InputSettings(
    Values values,
    Format format,
    Map<String, List<Long>> shapes,
    long intMinimum,
    long intMaximum,
    long seed) {
  /** What the elements are. */
  public enum Values {
    ZERO,
    /**
     * Normally distributed numbers, evenly distributed integers; but inputs called a mask are all
     * ones and token types all zeros, as encoders expect.
     */
    RANDOM
  }

  /** How tensors are written. */
  public enum Format {
    /** The binary tensor extension, for outputs as well. */
    BINARY,
    JSON
  }

  public InputSettings {
    shapes = Map.copyOf(shapes);
    if (intMinimum > intMaximum) {
      throw new IllegalArgumentException(
          "int-range must not be empty: " + intMinimum + ".." + intMaximum);
    }
  }

  /** Random values in binary form, integers from 0 to 99, open dimensions 1. */
  public static InputSettings random(long seed) {
    return new InputSettings(Values.RANDOM, Format.BINARY, Map.of(), 0, 99, seed);
  }
}
