package io.pipelane.bench.noop;

import io.pipelane.loadgen.settings.PreparedRequest;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The bytes with which a server answers an inference request, head and body. */
public final class RawAnswer {
  private static final int TIMEOUT_MILLIS = 30_000;
  private static final Pattern LENGTH =
      Pattern.compile("\r\ncontent-length: (\\d{1,9})\r\n", Pattern.CASE_INSENSITIVE);
  private static final String HEAD_END = "\r\n\r\n";

  private RawAnswer() {}

  /**
   * Asks once.
   *
   * @throws IOException when the answer is not a 200 with a length
   */
  public static byte[] ask(URI server, String model, PreparedRequest request) throws IOException {
    try (Socket socket = new Socket(server.getHost(), server.getPort())) {
      socket.setSoTimeout(TIMEOUT_MILLIS);
      OutputStream out = socket.getOutputStream();
      out.write(head(server, model, request).getBytes(StandardCharsets.ISO_8859_1));
      out.write(body(request));
      out.flush();
      return read(socket.getInputStream());
    }
  }

  private static byte[] body(PreparedRequest request) {
    byte[] body = new byte[request.body().remaining()];
    request.body().get(body);
    return body;
  }

  private static String head(URI server, String model, PreparedRequest request) {
    StringBuilder head = new StringBuilder();
    head.append("POST /v2/models/%s/infer HTTP/1.1\r\n".formatted(model));
    head.append("Host: %s\r\n".formatted(server.getRawAuthority()));
    request.headers().forEach((name, value) -> head.append(name + ": " + value + "\r\n"));
    head.append("Content-Length: %d\r\n\r\n".formatted(request.body().remaining()));
    return head.toString();
  }

  private static byte[] read(InputStream in) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    String head = "";
    while (!head.endsWith(HEAD_END)) {
      int next = in.read();
      if (next < 0) {
        throw new EOFException("the server closed the connection after: " + head);
      }
      bytes.write(next);
      head = bytes.toString(StandardCharsets.ISO_8859_1);
    }
    Matcher length = LENGTH.matcher(head);
    if (!head.startsWith("HTTP/1.1 200 ") || !length.find()) {
      throw new IOException("the server answered: " + head);
    }
    bytes.write(in.readNBytes(Integer.parseInt(length.group(1))));
    return bytes.toByteArray();
  }
}
