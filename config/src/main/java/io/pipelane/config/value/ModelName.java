package io.pipelane.config.value;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.regex.Pattern;

/** The name of a model. */
public record ModelName(String text) {
  /** The same in words. */
  public static final String FORM =
      "1 to 128 letters, digits and . _ - or space, the first no dot and no space";

  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_-][A-Za-z0-9._ -]{0,127}");

  /**
   * @throws IllegalArgumentException for what no model may be called
   */
  public ModelName {
    if (!isOne(text)) {
      throw new IllegalArgumentException(complaint(text));
    }
  }

  /**
   * Checks a text that a caller names a model by.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for what no model may be called
   */
  public static void require(String text) {
    if (!isOne(text)) {
      throw new StatusException(Status.INVALID_ARGUMENT, complaint(text));
    }
  }

  private static String complaint(String text) {
    return "\"" + text + "\" is no name of a model: " + FORM;
  }

  /** Whether a model may be called so. */
  public static boolean isOne(String text) {
    return NAME.matcher(text).matches();
  }

  @Override
  public String toString() {
    return text;
  }
}
