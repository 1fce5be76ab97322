package io.pipelane.config.value;

/** A name that others have given to something, in any characters that can be printed. */
public record Text(String value) {
  private static final String ALLOWED = "\\P{Cntrl}{1,255}";

  /**
   * @throws IllegalArgumentException when it is empty, too long or holds control characters
   */
  public Text {
    if (value.isBlank() || !value.matches(ALLOWED)) {
      throw new IllegalArgumentException("not a text of 1 to 255 characters");
    }
  }
}
