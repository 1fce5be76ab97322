package io.pipelane.loadgen.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pipelane.loadgen.settings.Endpoint;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.PreparedRequest;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** The bytes of every request of a test, head and body, written once outside the Java heap. */
final class EncodedRequests implements AutoCloseable {
  private final ByteBuf[][] requests;

  EncodedRequests(LoadTest test) {
    requests =
        test.models().stream()
            .map(
                model ->
                    model.variants().stream()
                        .map(variant -> encode(test.endpoint(), model, variant))
                        .toArray(ByteBuf[]::new))
            .toArray(ByteBuf[][]::new);
  }

  /** The bytes of a request; the caller releases them once, like any buffer. */
  ByteBuf get(int model, int variant) {
    return requests[model][variant].retainedDuplicate();
  }

  /** Gives the memory back when the last connection is done with it. */
  @Override
  public void close() {
    for (ByteBuf[] variants : requests) {
      for (ByteBuf request : variants) {
        request.release();
      }
    }
  }

  private static ByteBuf encode(Endpoint endpoint, ModelRequests model, PreparedRequest request) {
    URI url = endpoint.url();
    ByteBuffer body = request.body();
    String prefix = url.getRawPath() == null ? "" : url.getRawPath().replaceAll("/+$", "");
    StringBuilder head = new StringBuilder(256);
    head.append("POST ").append(prefix).append(model.path()).append(" HTTP/1.1\r\n");
    head.append("Host: ").append(url.getRawAuthority()).append("\r\n");
    append(head, request.headers());
    append(head, endpoint.headers());
    head.append("Content-Length: ").append(body.remaining()).append("\r\n\r\n");
    byte[] headBytes = head.toString().getBytes(StandardCharsets.ISO_8859_1);
    return Unpooled.directBuffer(headBytes.length + body.remaining())
        .writeBytes(headBytes)
        .writeBytes(body);
  }

  private static void append(StringBuilder head, Map<String, String> headers) {
    headers.forEach((name, value) -> head.append(name).append(": ").append(value).append("\r\n"));
  }
}
