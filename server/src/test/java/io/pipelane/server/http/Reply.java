package io.pipelane.server.http;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** A response as a client reads it. */
@SuppressWarnings("ArrayRecordComponent")
record Reply(int status, Map<String, String> headers, byte[] body) {
  /** Reads the responses that a stream of bytes consists of, to the last byte. */
  static List<Reply> all(byte[] bytes) {
    List<Reply> replies = new ArrayList<>();
    int at = 0;
    while (at < bytes.length) {
      String rest = new String(bytes, at, bytes.length - at, StandardCharsets.ISO_8859_1);
      int headLength = rest.indexOf("\r\n\r\n") + 4;
      String[] lines = rest.substring(0, headLength - 4).split("\r\n", -1);
      Map<String, String> headers = new TreeMap<>();
      for (String line : Arrays.asList(lines).subList(1, lines.length)) {
        String[] field = line.split(": ", 2);
        headers.put(field[0].toLowerCase(Locale.ROOT), field[1]);
      }
      int length = Integer.parseInt(headers.getOrDefault("content-length", "0"));
      int start = at + headLength;
      if (start + length > bytes.length) {
        throw new AssertionError("a response is cut off: " + rest);
      }
      replies.add(
          new Reply(
              Integer.parseInt(lines[0].substring(9, 12)),
              headers,
              Arrays.copyOfRange(bytes, start, start + length)));
      at = start + length;
    }
    return replies;
  }

  String text() {
    return new String(body, StandardCharsets.UTF_8);
  }

  String header(String name) {
    return headers.getOrDefault(name, "");
  }

  private int jsonLength() {
    String length = header("inference-header-content-length");
    return length.isEmpty() ? body.length : Integer.parseInt(length);
  }

  /** The JSON in front of binary data. */
  String json() {
    return new String(body, 0, jsonLength(), StandardCharsets.UTF_8);
  }

  byte[] binary() {
    return Arrays.copyOfRange(body, jsonLength(), body.length);
  }
}
