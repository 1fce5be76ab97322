package io.pipelane.loadgen.result;

/** The words of a server, as terminals and files can bear them. */
public final class ServerText {
  private static final int MAXIMUM_CHARACTERS = 300;

  private ServerText() {}

  /** The beginning of a text in one line, without control characters. */
  public static String of(String said) {
    String beginning = said.substring(0, Math.min(said.length(), MAXIMUM_CHARACTERS));
    return beginning.replaceAll("[\\p{Cntrl}\\x{80}-\\x{9f}]+", " ").strip();
  }
}
