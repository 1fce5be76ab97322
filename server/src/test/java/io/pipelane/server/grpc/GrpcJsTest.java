package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.server.http.EchoService;
import io.pipelane.server.net.Program;
import java.net.URL;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The server as a client of another stack sees it, {@code @grpc/grpc-js}; skipped where Node does
 * not find that ({@code npm install @grpc/grpc-js @grpc/proto-loader}, and {@code NODE_PATH}).
 */
@Timeout(60)
class GrpcJsTest {
  private static final Path PROTOCOL = Path.of("..", "protocol", "src", "main", "proto");

  @Test
  void client_isAnswered() throws Exception {
    assumeTrue(
        Program.works(
            "node",
            "-e",
            "require.resolve('@grpc/grpc-js'); require.resolve('@grpc/proto-loader')"),
        "Node does not find @grpc/grpc-js");
    URL script = Objects.requireNonNull(GrpcJsTest.class.getResource("client.js"));
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      Program.Outcome outcome =
          Program.run(
              List.of(
                  "node",
                  Path.of(script.toURI()).toString(),
                  PROTOCOL.toAbsolutePath().normalize().toString(),
                  "127.0.0.1:" + conversation.server.address().getPort()));
      assertEquals(0, outcome.status(), outcome.text());
      assertTrue(outcome.text().endsWith("all is well\n"), outcome.text());
    }
  }
}
