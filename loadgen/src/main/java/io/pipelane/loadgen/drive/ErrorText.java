package io.pipelane.loadgen.drive;

import io.pipelane.loadgen.result.ServerText;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** The text of a server's error, in one line. */
final class ErrorText {
  private static final int MAXIMUM_BYTES = 300;

  private ErrorText() {}

  static String of(ByteBuffer body) {
    ByteBuffer beginning = body.slice(body.position(), Math.min(body.remaining(), MAXIMUM_BYTES));
    return ServerText.of(StandardCharsets.UTF_8.decode(beginning).toString());
  }
}
