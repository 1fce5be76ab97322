package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.Keys;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.Transport;
import io.pipelane.switcher.InferenceService;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** HTTP/2 without TLS, over real sockets. */
@Timeout(60)
class Http2Test {
  private static final int LARGEST_REQUEST = 8 << 20;
  private static final String ECHO =
      "{\"id\":\"%s\",\"inputs\":[{\"name\":\"x\",\"shape\":[1,4],\"datatype\":\"FP32\","
          + "\"data\":[1,2,3,4]}]}";

  @TempDir private Path folder;

  private static HttpServer start(Transport transport, Backend backend) {
    HttpSettings settings =
        new HttpSettings(
            "127.0.0.1",
            0,
            transport,
            1,
            LARGEST_REQUEST,
            8,
            Duration.ofSeconds(20),
            Optional.empty());
    return HttpServer.start(
        settings, backend, new TransferMemory(Arena.ofAuto().allocate(16 << 20)));
  }

  private static HttpServer start(InferenceService service) {
    return start(Transport.AUTO, Backends.of(FakeCatalog.usual(), service));
  }

  private static byte[] echo(String id) {
    return ECHO.formatted(id).getBytes(StandardCharsets.UTF_8);
  }

  private static void await(EchoService service, int requests) {
    while (service.pending.size() < requests) {
      Thread.onSpinWait();
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"AUTO", "NIO"})
  void priorKnowledge_isServedBesideHttp1(Transport transport) throws Exception {
    Backend backend = Backends.of(FakeCatalog.usual(), EchoService.inline());
    try (HttpServer server = start(transport, backend);
        Http2Client client = new Http2Client(server.address());
        Socket socket = connect(server.address())) {
      Http2Client.Stream live = client.get("/v2/health/live");
      assertEquals(200, live.status());
      assertEquals("{\"live\":true}", live.text());
      assertEquals("application/json", live.head().get("content-type").toString());
      assertEquals("13", live.head().get("content-length").toString());
      Http2Client.Stream inferred = client.post("/v2/models/echo/infer", echo("7"));
      assertTrue(inferred.text().contains("\"id\":\"7\""), inferred.text());
      assertNotNull(inferred.head().get("pipelane-stall-us"));
      assertEquals(405, client.get("/v2/models/echo/infer").status());
      assertEquals("POST", client.get("/v2/models/echo/infer").head().get("allow").toString());
      socket
          .getOutputStream()
          .write(Requests.get("/v2/health/live").getBytes(StandardCharsets.US_ASCII));
      socket.shutdownOutput();
      assertEquals(
          "{\"live\":true}", Reply.all(socket.getInputStream().readAllBytes()).getFirst().text());
    }
  }

  @Test
  void requestThatIsWithdrawnBeforeItsBody_isUnderWayForItsKeyNoMore() throws Exception {
    String entry = Keys.entry("one", "roles: [infer], concurrent-requests: 1");
    try (AccessControl access = Keys.of(folder, entry);
        HttpServer server =
            start(Transport.AUTO, Backends.of(FakeCatalog.usual(), EchoService.inline(), access));
        Http2Client client = new Http2Client(server.address())) {
      Http2Headers infer = keyed(Http2Client.request("POST", "/v2/models/echo/infer"));
      Http2Headers look = keyed(Http2Client.request("GET", "/v2/models/echo"));
      Http2Client.Stream coming = client.open(infer, false);
      assertEquals(429, client.open(look, true).status());
      coming.cancel();
      while (client.open(look, true).status() == 429) { // The stream's channel ends a little later.
        Thread.onSpinWait();
      }
      assertEquals(200, client.open(look, true).status());
    }
  }

  private static Http2Headers keyed(Http2Headers head) {
    return head.set("authorization", "Bearer one");
  }

  private static Socket connect(InetSocketAddress address) throws IOException {
    return new Socket(address.getAddress(), address.getPort());
  }

  @Test
  void hostBesideTheAuthority_mustBeTheSame() throws Exception {
    try (HttpServer server = start(EchoService.inline());
        Http2Client client = new Http2Client(server.address())) {
      Http2Headers same = Http2Client.request("GET", "/v2").set("host", "localhost");
      assertEquals(200, client.open(same, true).status());
      Http2Headers other = Http2Client.request("GET", "/v2").set("host", "evil.example");
      assertEquals(Http2Error.CANCEL.code(), client.open(other, true).reset());
      Http2Headers both = same.add("host", "evil.example");
      assertEquals(Http2Error.CANCEL.code(), client.open(both, true).reset());
    }
  }

  @Test
  void preface_byteByByte_isRecognised() throws Exception {
    try (HttpServer server = start(EchoService.inline());
        Socket socket = connect(server.address())) {
      socket.setTcpNoDelay(true);
      byte[] preface =
          Requests.bytes(
              "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", new byte[] {0, 0, 0, 4, 0, 0, 0, 0, 0});
      for (byte piece : preface) {
        socket.getOutputStream().write(piece);
      }
      byte[] settings = socket.getInputStream().readNBytes(9);
      assertEquals(4, settings[3], "a SETTINGS frame comes first");
    }
    try (HttpServer server = start(EchoService.inline());
        Socket socket = connect(server.address())) {
      socket.getOutputStream().write("PRI".getBytes(StandardCharsets.US_ASCII));
      socket.shutdownOutput();
      assertEquals(0, socket.getInputStream().readAllBytes().length);
    }
  }

  @Test
  void streams_areAnsweredAsTheirRequestsEnd() throws Exception {
    EchoService service = EchoService.holding();
    try (HttpServer server = start(service);
        Http2Client client = new Http2Client(server.address())) {
      List<Http2Client.Stream> streams = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        streams.add(client.post("/v2/models/echo/infer", echo("" + i)));
        await(service, i + 1);
      }
      for (int i = 2; i >= 0; i--) {
        service.pending.get(i).complete();
        assertTrue(streams.get(i).text().contains("\"id\":\"" + i + "\""));
      }
    }
  }

  @Test
  void largeBinaryTensors_passBothWays() throws Exception {
    int elements = 1_500_000;
    byte[] data = new byte[4 * elements];
    for (int i = 0; i < data.length; i += 4) {
      data[i] = (byte) (i >> 2);
    }
    String json =
        ("{\"parameters\":{\"binary_data_output\":true},\"inputs\":[{\"name\":\"x\",\"shape\":[%d],"
                + "\"datatype\":\"INT32\",\"parameters\":{\"binary_data_size\":%d}}]}")
            .formatted(elements, data.length);
    byte[] body = Requests.bytes(json, data);
    try (HttpServer server = start(EchoService.inline());
        Http2Client client = new Http2Client(server.address())) {
      Http2Headers head =
          Http2Client.request("POST", "/v2/models/echo_INT32/infer")
              .setLong("content-length", body.length)
              .setInt("inference-header-content-length", json.length());
      Http2Client.Stream stream = client.open(head, false);
      stream.send(body, true);
      assertEquals(200, stream.status());
      byte[] answer = stream.bytes();
      int described =
          Integer.parseInt(stream.head().get("inference-header-content-length").toString());
      assertEquals(data.length, answer.length - described);
      assertArrayEquals(data, Arrays.copyOfRange(answer, described, answer.length));
    }
  }

  @Test
  void streamThatIsWithdrawn_cancelsItsRequest() throws Exception {
    EchoService service = EchoService.holding();
    try (HttpServer server = start(service);
        Http2Client client = new Http2Client(server.address())) {
      Http2Client.Stream stream = client.post("/v2/models/echo/infer", echo("1"));
      await(service, 1);
      stream.cancel();
      while (!service.pending.getFirst().isCancelled()) {
        Thread.onSpinWait();
      }
      service.pending.getFirst().complete();
      assertEquals(200, client.get("/v2/health/live").status());
    }
  }

  @Test
  void limits_areToldAndKept() throws Exception {
    try (HttpServer server = start(EchoService.inline());
        Http2Client client = new Http2Client(server.address())) {
      Http2Settings settings = client.settings();
      assertEquals(ConnectionSetup.MAXIMUM_STREAMS, settings.maxConcurrentStreams());
      assertEquals(32 << 10, settings.maxHeaderListSize());

      Http2Headers announced =
          Http2Client.request("POST", "/v2/models/echo/infer")
              .setLong("content-length", LARGEST_REQUEST + 1L);
      Http2Client.Stream large = client.open(announced, false);
      assertEquals(413, large.status());
      assertTrue(large.text().contains("server.max-request-size"));
      assertEquals(Http2Error.NO_ERROR.code(), large.reset());

      Http2Client.Stream growing =
          client.open(Http2Client.request("POST", "/v2/models/echo/infer"), false);
      byte[] piece = new byte[1 << 20];
      for (int sent = 0; sent <= LARGEST_REQUEST; sent += piece.length) {
        growing.send(piece, false);
      }
      assertEquals(413, growing.status());

      Http2Headers padded = Http2Client.request("GET", "/v2/health/live");
      padded.set("x-padding", "x".repeat(40_000));
      assertEquals(431, client.open(padded, true).status());
      assertEquals(200, client.get("/v2/health/live").status());
    }
  }

  @Test
  void clientThatWithdrawsStreamAfterStream_isTurnedAway() throws Exception {
    EchoService service = EchoService.holding();
    service.endsWithdrawn = true;
    try (HttpServer server = start(service);
        Http2Client hostile = new Http2Client(server.address());
        Http2Client other = new Http2Client(server.address())) {
      for (int i = 0; i <= ConnectionSetup.MAXIMUM_RESETS && hostile.channel.isActive(); i++) {
        try {
          hostile.post("/v2/models/echo/infer", echo("r")).cancel();
        } catch (RuntimeException e) {
          break; // Turned away already.
        }
      }
      assertEquals(Http2Error.ENHANCE_YOUR_CALM.code(), hostile.goAway());
      assertTrue(hostile.channel.closeFuture().await(10, TimeUnit.SECONDS));
      assertEquals(200, other.get("/v2/health/live").status());
    }
  }

  @Test
  void expectContinue_isGranted() throws Exception {
    try (HttpServer server = start(EchoService.inline());
        Http2Client client = new Http2Client(server.address())) {
      Http2Headers head =
          Http2Client.request("POST", "/v2/models/echo/infer").set("expect", "100-continue");
      Http2Client.Stream stream = client.open(head, false);
      stream.mayContinue.get(10, TimeUnit.SECONDS);
      stream.send(echo("c"), true);
      assertEquals(200, stream.status());
    }
  }

  @Test
  void headRequest_isAnsweredWithoutBody() throws Exception {
    try (HttpServer server = start(EchoService.inline());
        Http2Client client = new Http2Client(server.address())) {
      Http2Client.Stream stream = client.open(Http2Client.request("HEAD", "/v2/health/live"), true);
      assertEquals("13", stream.head().get("content-length").toString());
      assertEquals(0, stream.bytes().length);
    }
  }

  @Test
  void events_arePushedUntilTheStreamIsClosed() throws Exception {
    try (HttpServer server = start(EchoService.inline());
        Http2Client client = new Http2Client(server.address())) {
      Http2Client.Stream events = client.get("/v2/pipelane/events");
      assertEquals("text/event-stream", events.head().get("content-type").toString());
      String event = Objects.requireNonNull(events.pieces.poll(10, TimeUnit.SECONDS));
      assertTrue(event.startsWith("event: state\ndata: {"), event);
      events.cancel();
      assertEquals(200, client.get("/v2/health/live").status());
    }
  }

  @Test
  void keysAndPorts_areTheSame() throws Exception {
    AccessControl access = Keys.of(folder, Keys.usual(), OptionalInt.of(0));
    Backend backend = Backends.of(FakeCatalog.usual(), EchoService.inline(), access);
    try (HttpServer server = start(Transport.AUTO, backend);
        Http2Client client = new Http2Client(server.address());
        Http2Client manager = new Http2Client(server.managementAddress().orElseThrow())) {
      assertEquals(401, client.post("/v2/models/echo/infer", echo("k")).status());
      Http2Headers head =
          Http2Client.request("POST", "/v2/models/echo/infer").set("x-api-key", "infer");
      Http2Client.Stream allowed = client.open(head, false);
      allowed.send(echo("k"), true);
      assertEquals(200, allowed.status());
      assertEquals(404, client.post("/v2/repository/models/a/load", new byte[0]).status());
      assertEquals(404, manager.post("/v2/models/echo/infer", echo("k")).status());
      assertEquals(401, manager.post("/v2/repository/models/a/load", new byte[0]).status());
    }
  }

  @Test
  void drain_answersWhatRuns() throws Exception {
    EchoService service = EchoService.holding();
    FakeCatalog catalog = FakeCatalog.usual();
    catalog.loading.complete(null); // What is loaded before the drain begins is answered, too.
    HttpServer server = start(Transport.AUTO, Backends.of(catalog, service));
    try (Http2Client client = new Http2Client(server.address())) {
      Http2Client.Stream stream = client.post("/v2/models/echo/infer", echo("1"));
      await(service, 1);
      CompletableFuture<Boolean> drained =
          CompletableFuture.supplyAsync(() -> server.drain(Duration.ofSeconds(20)));
      Http2Client.Stream late;
      do {
        late = client.post("/v2/repository/models/none/load", new byte[0]);
      } while (late.status() != 503);
      assertFalse(drained.isDone());
      service.pending.getFirst().complete();
      assertEquals(200, stream.status());
      assertTrue(stream.text().contains("\"id\":\"1\""));
      assertTrue(drained.get(10, TimeUnit.SECONDS));
      assertEquals(Http2Error.NO_ERROR.code(), client.goAway());
    }
  }

  @Test
  void drain_answersARequestWhoseBodyIsComing() throws Exception {
    HttpServer server = start(EchoService.inline());
    try (Http2Client client = new Http2Client(server.address())) {
      Http2Client.Stream stream =
          client.open(Http2Client.request("POST", "/v2/models/echo/infer"), false);
      stream.send(new byte[100], false);
      assertEquals(200, client.get("/v2/health/live").status()); // It is there by now.
      CompletableFuture<Boolean> drained =
          CompletableFuture.supplyAsync(() -> server.drain(Duration.ofSeconds(20)));
      assertEquals(503, stream.status());
      assertEquals("1", String.valueOf(stream.head().get("retry-after")));
      assertTrue(stream.text().contains("the server is shutting down"));
      assertTrue(drained.get(10, TimeUnit.SECONDS));
    }
  }

  @Test
  void curl_isAnsweredInHttp2() throws Exception {
    try (HttpServer server = start(EchoService.inline())) {
      String answer =
          curl(
              "--http2-prior-knowledge",
              "-w",
              " %{http_version} %{http_code}",
              "-d",
              ECHO.formatted("curl"),
              server.url() + "/v2/models/echo/infer");
      assertTrue(answer.contains("\"id\":\"curl\""), answer);
      assertTrue(answer.endsWith(" 2 200"), answer);
    }
  }

  private static String curl(String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of("curl", "-sS", "--max-time", "20"));
    command.addAll(List.of(arguments));
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      process.waitFor();
      Assumptions.assumeFalse(
          text.contains("does not support"), "this curl has no HTTP/2: " + text);
      return text;
    } catch (IOException e) {
      return Assumptions.abort("curl is not installed: " + e.getMessage());
    }
  }
}
