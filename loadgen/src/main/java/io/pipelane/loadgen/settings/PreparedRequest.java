package io.pipelane.loadgen.settings;

import java.nio.ByteBuffer;
import java.util.Map;

/**
 * The headers and body of an inference request, ready to be sent any number of times.
 *
 * @param headers without {@code Host} and {@code Content-Length}
 */
public record PreparedRequest(Map<String, String> headers, ByteBuffer body) {
  /** Bytes of tensors in the body follow a JSON part of this many bytes. */
  public static final String INFERENCE_HEADER_CONTENT_LENGTH = "Inference-Header-Content-Length";

  public PreparedRequest {
    headers = Map.copyOf(headers);
    body = body.asReadOnlyBuffer();
  }

  /** A request whose body is JSON alone. */
  public static PreparedRequest json(byte[] body) {
    return new PreparedRequest(
        Map.of("Content-Type", "application/json"), ByteBuffer.wrap(body.clone()));
  }

  /**
   * A request of the binary tensor extension.
   *
   * @param jsonBytes length of the JSON part that the body begins with
   */
  public static PreparedRequest binary(byte[] body, int jsonBytes) {
    return new PreparedRequest(
        Map.of(
            "Content-Type",
            "application/octet-stream",
            INFERENCE_HEADER_CONTENT_LENGTH,
            Integer.toString(jsonBytes)),
        ByteBuffer.wrap(body.clone()));
  }

  /** The body, positioned at its beginning; a new view with every call. */
  @Override
  public ByteBuffer body() {
    return body.asReadOnlyBuffer();
  }
}
