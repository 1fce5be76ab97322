package io.pipelane.loadgen.http;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.pipelane.loadgen.drive.Connection;
import io.pipelane.loadgen.network.SendingThread;
import io.pipelane.loadgen.result.Warmth;
import io.pipelane.loadgen.settings.Endpoint;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class HttpConnectionTest {
  private static final String ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

  private final CompletableFuture<String> happened = new CompletableFuture<>();

  private final Connection.Listener listener =
      new Connection.Listener() {
        @Override
        public void ready() {}

        @Override
        public void refused(String reason) {
          happened.complete("refused: " + reason);
        }

        @Override
        public void answered(
            int status,
            @Nullable String error,
            int jsonBytes,
            Warmth warmth,
            ByteBuffer body,
            boolean reusable) {
          happened.complete("answered");
        }

        @Override
        public void lost(String reason) {
          happened.complete("lost: " + reason);
        }
      };

  @Test
  @SuppressWarnings("NullAway") // Nothing is sent.
  void answerToNoRequest_losesTheConnection() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        SendingThread thread = new SendingThread()) {
      Bootstrap bootstrap =
          new Bootstrap()
              .group(thread.group())
              .channel(thread.channel())
              .remoteAddress(server.getLocalSocketAddress());
      Endpoint endpoint = Endpoint.of(URI.create("http://127.0.0.1:" + server.getLocalPort()));
      HttpConnection connection =
          new HttpConnection(bootstrap, endpoint, null, null, false, listener);
      thread.execute(connection::open);
      try (Socket socket = server.accept()) {
        socket.getOutputStream().write(ANSWER.getBytes(StandardCharsets.US_ASCII));
        assertTrue(happened.join().startsWith("lost: the server sent"), happened::join);
      } finally {
        thread.execute(connection::close);
      }
    }
  }
}
