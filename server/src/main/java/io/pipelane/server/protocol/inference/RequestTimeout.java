package io.pipelane.server.protocol.inference;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.pipelane.config.StatusException;
import io.pipelane.server.protocol.Json;
import java.nio.charset.StandardCharsets;

/** The reading of a request's timeout where nothing else of it is read. */
public final class RequestTimeout {
  private static final ByteBuf NAME =
      Unpooled.unreleasableBuffer(
          Unpooled.copiedBuffer('"' + Parameters.TIMEOUT + '"', StandardCharsets.US_ASCII)
              .asReadOnly());

  private RequestTimeout() {}

  /**
   * How long a client waits for his answer, in microseconds. Most requests name no timeout, and are
   * not read then.
   *
   * @param json the description of an inference; its indices stay as they are
   * @return 0 where it says nothing
   * @throws StatusException when the text is none that this server takes, as far as it is read
   */
  public static long microsIn(ByteBuf json) {
    if (ByteBufUtil.indexOf(NAME, json) < 0) {
      return 0;
    }
    return Json.read(
        json,
        parser -> {
          Json.beginObject(parser);
          long micros = 0;
          for (String member = parser.nextFieldName();
              member != null;
              member = parser.nextFieldName()) {
            parser.nextToken();
            if (member.equals("parameters")) {
              micros =
                  Parameters.read(parser, "the request", Parameters.OF_REQUEST).timeoutMicros();
            } else {
              parser.skipChildren();
            }
          }
          return micros;
        });
  }
}
