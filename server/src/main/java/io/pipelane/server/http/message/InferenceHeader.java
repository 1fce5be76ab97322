package io.pipelane.server.http.message;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.nio.charset.StandardCharsets;

/** The header that says where the JSON of a body ends and its binary data begins. */
public final class InferenceHeader {
  public static final AsciiString NAME = AsciiString.cached("Inference-Header-Content-Length");

  /** What to tell of binary data that came without the header. */
  public static final String HOW_TO_SEND =
      "; the body has binary data: say in %s how many bytes of it are JSON, 0 if it is one tensor's bytes alone"
          .formatted(NAME);

  private static final int MAXIMUM_DIGITS = 18;

  private InferenceHeader() {}

  /**
   * How many bytes of a body are JSON; all of them where the header is missing, 0 for a body that
   * is nothing but one tensor's bytes.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the value is no length or beyond
   *     the body, or promises a tensor where there is no body
   */
  public static int jsonLength(HttpHeaders headers, int bodyLength) {
    String value = FieldLines.joined(headers, NAME);
    if (value == null) {
      return bodyLength;
    }
    long length = areDigits(value) ? Long.parseLong(value) : -1;
    if (length < 0 || length > bodyLength) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          NAME
              + " is \""
              + UriPath.shorten(value)
              + "\", it must lie within 0 to the body's "
              + bodyLength
              + " bytes");
    }
    if (bodyLength == 0) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          NAME
              + " is 0, so the body is one tensor's bytes, and it is empty; send them, or leave the"
              + " header out and describe the inputs in JSON");
    }
    return (int) length;
  }

  /** Whether a body has what no JSON text has, and no header. */
  public static boolean isForgotten(HttpHeaders headers, ByteBuf body) {
    return !headers.contains(NAME)
        && (body.forEachByte(InferenceHeader::isOfText) >= 0
            || !ByteBufUtil.isText(body, StandardCharsets.UTF_8));
  }

  private static boolean isOfText(byte value) {
    return value < 0 || value >= ' ' || value == '\t' || value == '\n' || value == '\r';
  }

  /** Where a body's binary data begins if the header says so; else 0. */
  public static int binaryOffset(HttpHeaders headers) {
    String value = headers.get(NAME);
    return value != null && areDigits(value) ? (int) Long.parseLong(value) : 0;
  }

  private static boolean areDigits(String value) {
    for (int i = 0; i < value.length(); i++) {
      if (value.charAt(i) < '0' || value.charAt(i) > '9') {
        return false;
      }
    }
    return !value.isEmpty() && value.length() <= MAXIMUM_DIGITS;
  }
}
