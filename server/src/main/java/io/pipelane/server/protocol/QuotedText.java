package io.pipelane.server.protocol;

/** Text of a client's as messages quote it: its beginning where it is long. */
public final class QuotedText {
  private QuotedText() {}

  /**
   * The text, or so much of it and an ellipsis. No pair of surrogates is cut, of which half is no
   * text.
   *
   * @param most characters of it
   */
  public static String shorten(String text, int most) {
    if (text.length() <= most) {
      return text;
    }
    boolean cutsPair = most > 0 && Character.isHighSurrogate(text.charAt(most - 1));
    return text.substring(0, cutsPair ? most - 1 : most) + "...";
  }
}
