package io.pipelane.loadgen.http;

import io.netty.buffer.ByteBuf;
import io.netty.util.ByteProcessor;
import io.pipelane.loadgen.result.Warmth;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;

/**
 * A decoder of HTTP/1.1 responses (RFC 9112) from bytes that come in any pieces. It does as little
 * work as the load generator can do with: the status, six headers, and the body where somebody
 * wants it.
 */
final class ResponseDecoder {
  /*
   * A state machine over lines and runs of body bytes. A line that is not all there is kept in
   * `line`, so every call consumes all bytes it is given, up to the end of a response.
   */
  static final int MAXIMUM_HEAD_BYTES = 64 << 10;
  static final int MAXIMUM_BODY_BYTES = 256 << 20;
  private static final int ERROR_BODY_BYTES = 4 << 10;

  /** A server need not send it. */
  private static final String STALL_HEADER = Warmth.STALL_HEADER + ":";

  private enum State {
    STATUS_LINE,
    HEADER,
    BODY,
    BODY_TO_CLOSE,
    CHUNK_SIZE,
    CHUNK,
    CHUNK_END,
    TRAILER
  }

  private final boolean keepBodies;
  private State state = State.STATUS_LINE;
  private byte[] line = new byte[256];
  private int lineLength;
  private int headBytes;
  private byte[] body = new byte[0];
  private int bodyLength;
  private long remaining;
  private int status;
  private int jsonBytes;
  private Warmth warmth = Warmth.UNTOLD;
  private boolean chunked;
  private boolean closing;
  private boolean page;

  /**
   * Creates a decoder for one connection.
   *
   * @param keepBodies whether bodies of successful responses are wanted; of others the beginning is
   *     kept in any case
   */
  ResponseDecoder(boolean keepBodies) {
    this.keepBodies = keepBodies;
  }

  /**
   * Consumes bytes up to the end of a response.
   *
   * @return whether a response is complete; its parts can be asked for until the next call
   * @throws MalformedResponseException when the bytes are no HTTP/1.x response, or above the limits
   */
  boolean decode(ByteBuf in) throws MalformedResponseException {
    while (in.isReadable()) {
      boolean complete =
          switch (state) {
            case STATUS_LINE, HEADER, CHUNK_SIZE, CHUNK_END, TRAILER ->
                readLine(in) && acceptLine();
            case BODY -> readBody(in) && end();
            case CHUNK -> {
              if (readBody(in)) {
                state = State.CHUNK_END;
              }
              yield false;
            }
            case BODY_TO_CLOSE -> {
              readBody(in);
              yield false;
            }
          };
      if (complete) {
        return true;
      }
    }
    return false;
  }

  /** Whether the end of the connection completes a response whose length was not announced. */
  boolean decodeEnd() {
    return state == State.BODY_TO_CLOSE && end();
  }

  int status() {
    return status;
  }

  /** The length of a body's JSON part; -1 when the server named none. */
  int jsonBytes() {
    return jsonBytes;
  }

  /** What the server said of the model's weights. */
  Warmth warmth() {
    return warmth;
  }

  ByteBuffer body() {
    return ByteBuffer.wrap(body, 0, bodyLength).slice();
  }

  /** Whether the body is an HTML page, and so no answer of a model. */
  boolean isPage() {
    return page;
  }

  /** Whether the server closes the connection after this response. */
  boolean isClosing() {
    return closing;
  }

  private boolean readLine(ByteBuf in) throws MalformedResponseException {
    int available = in.readableBytes();
    int newline = in.forEachByte(in.readerIndex(), available, ByteProcessor.FIND_LF);
    int taken = newline < 0 ? available : newline - in.readerIndex();
    headBytes += taken + 1;
    if (headBytes > MAXIMUM_HEAD_BYTES) {
      throw new MalformedResponseException(
          "the response's head is longer than " + MAXIMUM_HEAD_BYTES + " bytes");
    }
    if (lineLength + taken > line.length) {
      line = Arrays.copyOf(line, Math.max(lineLength + taken, 2 * line.length));
    }
    in.readBytes(line, lineLength, taken);
    lineLength += taken;
    if (newline < 0) {
      return false;
    }
    in.skipBytes(1);
    if (lineLength > 0 && line[lineLength - 1] == '\r') {
      lineLength--;
    }
    return true;
  }

  private boolean acceptLine() throws MalformedResponseException {
    boolean complete = false;
    switch (state) {
      case STATUS_LINE -> startResponse();
      case HEADER -> {
        if (lineLength == 0) {
          complete = endHead();
        } else {
          acceptHeader();
        }
      }
      case CHUNK_SIZE -> acceptChunkSize();
      case CHUNK_END -> state = State.CHUNK_SIZE;
      case TRAILER -> complete = lineLength == 0 && end();
      case BODY, BODY_TO_CLOSE, CHUNK -> throw new IllegalStateException("no line: " + state);
    }
    lineLength = 0;
    return complete;
  }

  private void startResponse() throws MalformedResponseException {
    if (lineLength < 12 || !startsWith("HTTP/1.") || line[8] != ' ') {
      throw new MalformedResponseException("not an HTTP/1.x response: \"" + text(0) + "\"");
    }
    status = (int) number(9, 12, 10);
    closing = line[7] == '0';
    chunked = false;
    remaining = -1;
    jsonBytes = -1;
    warmth = Warmth.UNTOLD;
    page = false;
    bodyLength = 0;
    state = State.HEADER;
  }

  private void acceptHeader() throws MalformedResponseException {
    switch (line[0] | 0x20) {
      case 'c' -> {
        if (startsWith("content-length:")) {
          long length = number(15, lineLength, 10);
          if (remaining >= 0 && remaining != length) {
            throw new MalformedResponseException("two different lengths are announced");
          }
          remaining = length;
        } else if (startsWith("content-type:")) {
          page = text(13).strip().startsWith("text/html");
        } else if (startsWith("connection:")) {
          String options = text(11);
          closing |= options.contains("close");
          closing &= !options.contains("keep-alive");
        }
      }
      case 't' -> chunked |= startsWith("transfer-encoding:") && text(18).contains("chunked");
      case 'i' -> {
        if (startsWith("inference-header-content-length:")) {
          jsonBytes = (int) Math.min(number(32, lineLength, 10), Integer.MAX_VALUE);
        }
      }
      case 'p' -> {
        if (startsWith(STALL_HEADER)) {
          warmth = Warmth.ofStall(number(STALL_HEADER.length(), lineLength, 10));
        }
      }
      default -> {}
    }
  }

  private boolean endHead() throws MalformedResponseException {
    headBytes = 0;
    if (status < 200) {
      state = State.STATUS_LINE;
      return false;
    }
    if (status == 204 || status == 304 || (!chunked && remaining == 0)) {
      return end();
    }
    if (chunked) {
      state = State.CHUNK_SIZE;
    } else if (remaining > 0) {
      state = State.BODY;
    } else {
      closing = true;
      remaining = Long.MAX_VALUE;
      state = State.BODY_TO_CLOSE;
    }
    return false;
  }

  private void acceptChunkSize() throws MalformedResponseException {
    headBytes = 0;
    int end = 0;
    while (end < lineLength && line[end] != ';') {
      end++;
    }
    remaining = number(0, end, 16);
    state = remaining == 0 ? State.TRAILER : State.CHUNK;
  }

  /** Takes what is there of the announced bytes; true when that is all of them. */
  private boolean readBody(ByteBuf in) throws MalformedResponseException {
    int taken = (int) Math.min(in.readableBytes(), remaining);
    boolean isError = status > 299 || page;
    if (keepBodies || isError) {
      int kept = keepBodies ? taken : Math.min(taken, ERROR_BODY_BYTES - bodyLength);
      if (kept > MAXIMUM_BODY_BYTES - bodyLength) {
        throw new MalformedResponseException(
            "the response's body is longer than " + MAXIMUM_BODY_BYTES + " bytes");
      }
      if (bodyLength + kept > body.length) {
        body = Arrays.copyOf(body, Math.max(bodyLength + kept, 2 * body.length));
      }
      in.getBytes(in.readerIndex(), body, bodyLength, kept);
      bodyLength += kept;
    }
    in.skipBytes(taken);
    remaining -= taken;
    return remaining == 0;
  }

  private boolean end() {
    state = State.STATUS_LINE;
    headBytes = 0;
    return true;
  }

  private boolean startsWith(String lowerCase) {
    if (lineLength < lowerCase.length()) {
      return false;
    }
    for (int i = 0; i < lowerCase.length(); i++) {
      if (Character.toLowerCase((char) line[i]) != Character.toLowerCase(lowerCase.charAt(i))) {
        return false;
      }
    }
    return true;
  }

  private String text(int from) {
    int length = Math.min(lineLength - from, 100);
    return new String(line, from, length, StandardCharsets.ISO_8859_1).toLowerCase(Locale.ROOT);
  }

  private long number(int from, int to, int radix) throws MalformedResponseException {
    int first = from;
    int last = to;
    while (first < last && line[first] == ' ') {
      first++;
    }
    while (last > first && line[last - 1] == ' ') {
      last--;
    }
    long value = 0;
    for (int i = first; i < last; i++) {
      int digit = Character.digit(line[i], radix);
      if (digit < 0 || value > Long.MAX_VALUE >> 8) {
        throw new MalformedResponseException("not a number: \"" + text(0) + "\"");
      }
      value = value * radix + digit;
    }
    if (first == last) {
      throw new MalformedResponseException("a number is missing: \"" + text(0) + "\"");
    }
    return value;
  }
}
