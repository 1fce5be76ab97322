package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.Program;
import io.pipelane.server.net.Transport;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The server as {@code curl} sees it; skipped where that is not installed. */
@Timeout(60)
class CurlTest {
  private static final int ELEMENTS = 4_000;

  @TempDir private Path folder = Path.of("");

  @BeforeAll
  static void needCurl() throws InterruptedException {
    assumeTrue(Program.works("curl", "--version"), "curl is not installed");
  }

  /** Ways to send the same request. */
  static Stream<List<String>> ways() {
    return Stream.of(
        List.of(),
        List.of("--http1.0"),
        List.of("--http2"),
        List.of("--http2-prior-knowledge"),
        List.of("--compressed"),
        List.of("--http2-prior-knowledge", "--compressed"),
        List.of("-H", "Transfer-Encoding: chunked"),
        List.of("-H", "Expect: 100-continue"));
  }

  @ParameterizedTest
  @MethodSource("ways")
  void infer_isAnswered(List<String> way) throws Exception {
    String numbers = String.join(",", Collections.nCopies(ELEMENTS, "7"));
    Path body =
        Files.writeString(
            folder.resolve("request.json"),
            "{\"inputs\":[{\"name\":\"x\",\"shape\":[%d],\"datatype\":\"INT32\",\"data\":[%s]}]}"
                .formatted(ELEMENTS, numbers));
    HttpSettings settings =
        new HttpSettings(
            "127.0.0.1",
            0,
            Transport.AUTO,
            1,
            1 << 20,
            8,
            Duration.ofSeconds(30),
            Optional.empty());
    try (HttpServer server =
        HttpServer.start(
            settings,
            Backends.of(FakeCatalog.usual(), EchoService.inline()),
            new TransferMemory(Arena.ofAuto().allocate(1 << 20)))) {
      List<String> command = new ArrayList<>(List.of("curl", "-sS", "--max-time", "30"));
      command.addAll(way);
      command.addAll(List.of("-w", "\n%{http_code}", "--data-binary", "@" + body));
      command.add(server.url() + "/v2/models/echo_INT32/infer");
      Program.Outcome outcome = Program.run(command);
      assertEquals(0, outcome.status(), outcome.text());
      assertTrue(outcome.text().endsWith("\n200"), outcome.text());
      assertTrue(outcome.text().contains("\"data\":[" + numbers + "]"), outcome.text());
    }
  }
}
