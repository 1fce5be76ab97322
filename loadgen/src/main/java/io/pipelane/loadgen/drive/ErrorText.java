package io.pipelane.loadgen.drive;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** What a server said about an error, in one line. */
final class ErrorText {
  private static final int MAXIMUM_BYTES = 300;

  private ErrorText() {}

  static String of(ByteBuffer body) {
    ByteBuffer beginning = body.slice(body.position(), Math.min(body.remaining(), MAXIMUM_BYTES));
    String text = StandardCharsets.UTF_8.decode(beginning).toString();
    return text.replaceAll("\\p{Cntrl}+", " ").strip();
  }
}
