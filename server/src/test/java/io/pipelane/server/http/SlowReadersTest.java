package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.Http2Frames;
import io.pipelane.server.net.Transport;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.Socket;
import java.net.SocketException;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Clients of HTTP/2 that let nothing be sent to them, on connections that are busy otherwise. */
@Timeout(60)
class SlowReadersTest {
  private static final Duration PERIOD = Duration.ofSeconds(1);

  private static HttpServer start() {
    HttpSettings settings =
        new HttpSettings("127.0.0.1", 0, Transport.AUTO, 1, 1 << 20, 8, PERIOD, Optional.empty());
    return HttpServer.start(
        settings,
        Backends.of(FakeCatalog.usual(), EchoService.inline()),
        new TransferMemory(Arena.ofAuto().allocate(1 << 20)));
  }

  private static byte[] ask(int stream, String method, String path) {
    return Http2Frames.joined(
        Http2Frames.request(
            stream,
            new byte[0],
            ":method",
            method,
            ":scheme",
            "http",
            ":authority",
            "localhost",
            ":path",
            path));
  }

  private static Socket http2(HttpServer server, int window) throws IOException {
    Socket socket = new Socket(server.address().getAddress(), server.address().getPort());
    socket.getOutputStream().write(Http2Frames.preface());
    socket.getOutputStream().write(Http2Frames.settings(window));
    return socket;
  }

  /** Has a connection be busy until something else comes than answers to that: its type. */
  private static int pingUntilSomethingComes(Socket socket) throws IOException {
    int type = Http2Frames.PING;
    while (type == Http2Frames.PING) {
      try {
        socket.getOutputStream().write(Http2Frames.ping());
      } catch (SocketException closed) {
        return -1;
      }
      type = Http2Frames.skip(socket.getInputStream());
    }
    return type;
  }

  @Test
  void streamWhoseWindowStaysShut_isEndedAlone() throws IOException {
    try (HttpServer server = start();
        Socket socket = http2(server, 0)) {
      socket.getOutputStream().write(ask(1, "GET", "/v2"));
      int type = Http2Frames.PING;
      while (type >= 0 && type != Http2Frames.RST_STREAM) {
        type = pingUntilSomethingComes(socket);
      }
      assertEquals(Http2Frames.RST_STREAM, type);
      socket.getOutputStream().write(ask(3, "HEAD", "/v2"));
      assertEquals(Http2Frames.HEADERS, pingUntilSomethingComes(socket));
    }
  }

  @Test
  void connectionWhoseWindowStaysShut_isClosed() throws IOException {
    try (HttpServer server = start();
        Socket socket = http2(server, 1 << 20)) {
      for (int stream = 1; stream < 40; stream += 2) {
        socket.getOutputStream().write(ask(stream, "GET", "/page/devices.js"));
      }
      int type = Http2Frames.PING;
      while (type >= 0) {
        type = pingUntilSomethingComes(socket);
        assertNotEquals(Http2Frames.RST_STREAM, type);
      }
    }
  }
}
