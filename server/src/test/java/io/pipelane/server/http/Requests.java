package io.pipelane.server.http;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Bytes of requests. */
final class Requests {
  private Requests() {}

  static byte[] infer(String model, String json) {
    return infer(model, json, new byte[0], "");
  }

  /** An inference with binary data behind its JSON. */
  static byte[] inferBinary(String model, String json, byte[] binary) {
    int length = json.getBytes(StandardCharsets.UTF_8).length;
    return infer(model, json, binary, "Inference-Header-Content-Length: " + length + "\r\n");
  }

  static byte[] infer(String model, String json, byte[] binary, String headers) {
    return post("/v2/models/" + model + "/infer", bytes(json, binary), headers);
  }

  static byte[] post(String path, byte[] body, String headers) {
    return bytes(
        head("POST " + path, headers + "Content-Length: %d\r\n".formatted(body.length)), body);
  }

  static String get(String path) {
    return head("GET " + path, "");
  }

  /**
   * The head of a request.
   *
   * @param start its method and target
   * @param fields beside its host
   */
  static String head(String start, String fields) {
    return start + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n";
  }

  static byte[] bytes(String text, byte[] more) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    all.writeBytes(text.getBytes(StandardCharsets.UTF_8));
    all.writeBytes(more);
    return all.toByteArray();
  }

  static byte[] concatenate(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }

  static byte[] floats(float... values) {
    ByteBuffer bytes = ByteBuffer.allocate(values.length * 4).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      bytes.putFloat(value);
    }
    return bytes.array();
  }

  static byte[] longs(long... values) {
    ByteBuffer bytes = ByteBuffer.allocate(values.length * 8).order(ByteOrder.LITTLE_ENDIAN);
    for (long value : values) {
      bytes.putLong(value);
    }
    return bytes.array();
  }

  static byte[] strings(String... values) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (String value : values) {
      byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
      all.writeBytes(
          ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(utf8.length).array());
      all.writeBytes(utf8);
    }
    return all.toByteArray();
  }

  /** A request of two inputs, one of them binary, whose outputs come in both forms too. */
  static byte[] mixed() {
    return inferBinary(
        "pair",
        "{\"id\":\"m\\u00e9\",\"inputs\":[{\"name\":\"b\",\"datatype\":\"BYTES\",\"shape\":[2],"
            + "\"parameters\":{\"binary_data_size\":13}},{\"name\":\"a\",\"shape\":[2],"
            + "\"datatype\":\"INT64\",\"data\":[9007199254740993,-1]}],"
            + "\"outputs\":[{\"name\":\"y_a\",\"parameters\":{\"binary_data\":true}},"
            + "{\"name\":\"y_b\"}]}",
        strings("a", "b\u00e9x"));
  }
}
