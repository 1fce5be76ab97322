package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.hosts.BareHost;
import io.pipelane.server.hosts.BareHost.Received;
import io.pipelane.server.hosts.ClosedPort;
import io.pipelane.server.hosts.LocalLoad;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.Transport;
import io.pipelane.server.shared.SharedMemory;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a request is on its way to another host, and its answer on the way back. */
@Timeout(60)
class ForwardedRequestTest extends ForwardingFixture {
  @ParameterizedTest
  @EnumSource(Transport.class)
  void request_goesAsItCame_andTheAnswerComesBackAsItWas(Transport transport) throws Exception {
    try {
      restart(registry.hosts(), transport.resolve());
    } catch (StatusException e) {
      Assumptions.abort(String.valueOf(e.getMessage()));
    }
    bothHave("far", false);
    first.then(
        "200 OK",
        "{}\0\1\2\3",
        "Content-Type: application/octet-stream",
        "Inference-Header-Content-Length: 2",
        "Pipelane-Stall-Us: 1500");
    HttpResponse<String> answer =
        ask(
            infer("far", "{\"a\":1}\u00ff\u0000")
                .header("Authorization", "Bearer secret")
                .header("X-API-Key", "key")
                .header("traceparent", "00-1-2-00")
                .header("Origin", server.url())
                .header("Inference-Header-Content-Length", "7"));
    assertEquals(200, answer.statusCode());
    assertEquals("{}\0\1\2\3", answer.body());
    assertEquals("2", answer.headers().firstValue("Inference-Header-Content-Length").orElse(""));
    assertEquals("1500", answer.headers().firstValue("Pipelane-Stall-Us").orElse(""));
    Received received = first.received.getFirst();
    assertEquals("POST /v2/models/far/infer HTTP/1.1", received.line());
    assertEquals("Bearer secret", received.fields().get("authorization"));
    assertEquals("key", received.fields().get("x-api-key"));
    assertEquals("00-1-2-00", received.fields().get("traceparent"));
    assertEquals("7", received.fields().get("inference-header-content-length"));
    assertEquals(first.url().getAuthority(), received.fields().get("host"));
    assertEquals(
        URI.create(server.url()).getAuthority(), received.fields().get("pipelane-forwarded"));
    assertNull(received.fields().get("upgrade"));
    assertNull(received.fields().get("origin"));
    assertEquals("{\"a\":1}\u00c3\u00bf\u0000", received.body());
    assertEquals(1, counted(first, "answered"));
  }

  @Test
  void requestThatNamesARegion_staysHere_thoughThereIsNone(@TempDir Path folder) throws Exception {
    server.close();
    hosts = registry.hosts();
    LocalLoad load = new LocalLoad(EchoService.inline(), _ -> stallNanos, () -> 1);
    SharedMemory memory = SharedMemory.in(folder, 1 << 20);
    server = start(Transport.AUTO, load, Backends.sharing(catalog, load, memory));
    bothHave("far", false);
    String named =
        "{\"inputs\":[{\"name\":\"x\",\"parameters\":{\"shared_memory_region\":\"r\"}}]}";
    assertEquals(404, ask(infer("far", named)).statusCode());
    assertEquals(List.of(), first.received);
    first.then("200 OK", OK);
    assertEquals(200, ask("far").statusCode());
  }

  @Test
  void answerThatComesByteByByte_isTheSame() throws Exception {
    bothHave("far", false);
    String text = BareHost.text("200 OK", OK, "Content-Type: application/json");
    first.then(
        socket -> {
          for (byte b : text.getBytes(StandardCharsets.ISO_8859_1)) {
            socket.getOutputStream().write(b);
            socket.getOutputStream().flush();
          }
        });
    assertEquals(OK, ask("far").body());
  }

  @Test
  void largeBodies_goBothWays_andConnectionsAreKept() throws Exception {
    bothHave("far", false);
    for (int i = 0; i < 3; i++) {
      String large = "0123456789abcdef".repeat(1 << (11 + 3 * i));
      first.then("200 OK", large);
      assertEquals(large, ask(infer("far", large)).body());
      assertEquals(large, first.received.get(i).body());
    }
    assertEquals(1, first.connections.get());
  }

  @ParameterizedTest
  @ValueSource(strings = {"400 Bad Request", "402 P", "413 T", "429 T", "500 I", "501 N", "507 I"})
  void errors_arePassedOn(String status) throws Exception {
    bothHave("far", false);
    first.then(status, "{\"error\":\"so\"}", "Retry-After: 7", "Connection: close");
    HttpResponse<String> answer = ask("far");
    assertEquals(status.substring(0, 3), Integer.toString(answer.statusCode()));
    assertEquals("{\"error\":\"so\"}", answer.body());
    assertEquals("7", answer.headers().firstValue("Retry-After").orElse(""));
    assertEquals(0, second.received.size());
  }

  @Test
  void fieldsOfAnyLength_doNoHarm() throws Exception {
    bothHave("far", false);
    String much = "much ".repeat(1_000);
    first.then("418 " + much, OK, "Retry-After: " + much, "Inference-Header-Content-Length: 1e9");
    HttpResponse<String> answer = ask("far");
    assertEquals(418, answer.statusCode());
    assertEquals(OK, answer.body());
  }

  @Test
  void keptConnectionThatTheOtherSideHasClosed_isNoReasonToSuspectIt() throws Exception {
    bothHave("far", false);
    first.then("200 OK", OK);
    assertEquals(OK, ask("far").body());
    first.then(BareHost.breakingOff("", 0)).then("200 OK", OK);
    assertEquals(OK, ask("far").body());
    assertEquals(2, first.connections.get());
    assertEquals(0, hosts.counts().suspect());
    assertEquals(2, counted(first, "answered"));
  }

  @Test
  void clientThatGoes_hasItsRequestGivenUpElsewhere() throws Exception {
    bothHave("far", false);
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch closed = new CountDownLatch(1);
    first.then(BareHost.silent(asked, closed));
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.address().getPort())) {
      socket
          .getOutputStream()
          .write(
              Requests.bytes(
                  Requests.head("POST /v2/models/far/infer", "Content-Length: 2\r\n"),
                  "{}".getBytes(StandardCharsets.US_ASCII)));
      asked.await();
    }
    closed.await();
    assertEquals(1, counted(first, "cancelled"));
    assertEquals(0, second.received.size());
  }

  private Socket send(String request) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.address().getPort());
    socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  /** The answer waits to be compressed, behind metrics, when its client goes. */
  @Test
  void clientThatGoesWhileItsAnswerIsCompressed_hasItsBodyGivenBackOnce() throws Exception {
    bothHave("far", false);
    first.then("200 OK", OK.repeat(1000));
    List<LogRecord> warnings = new CopyOnWriteArrayList<>();
    Logger logger = Logger.getLogger("io.pipelane.server");
    Handler handler = new Warnings(warnings::add);
    logger.addHandler(handler);
    List<Socket> scrapes = new ArrayList<>();
    try (Socket other = send("")) {
      for (int i = 0; i < CODEC_THREADS; i++) {
        scrapes.add(send(Requests.head("GET /metrics", "Connection: close\r\n")));
      }
      gathering.await();
      Socket client =
          send(
              "POST /v2/models/far/infer HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n"
                  + "Content-Length: 2\r\n\r\n{}");
      while (counted(first, "answered") == 0) {
        Thread.onSpinWait();
      }
      client.close();
      while (server.connections() > 1 + CODEC_THREADS) {
        Thread.onSpinWait();
      }
      IdleClients.ask(other); // The only event loop has done with the client by then.
      goOn.countDown();
      for (Socket scrape : scrapes) {
        String metrics = new String(scrape.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(metrics.startsWith("HTTP/1.1 200 "), metrics);
        scrape.close();
      }
      server.close(); // What is compressed has come back to the loop then.
    } finally {
      goOn.countDown();
      logger.removeHandler(handler);
    }
    assertEquals(List.of(), warnings.stream().map(LogRecord::getThrown).toList());
  }

  /** Takes what is logged as a warning or worse. */
  private static final class Warnings extends Handler {
    private final Consumer<LogRecord> taker;

    Warnings(Consumer<LogRecord> taker) {
      this.taker = taker;
      setLevel(Level.WARNING);
    }

    @Override
    public void publish(LogRecord logged) {
      if (isLoggable(logged)) {
        taker.accept(logged);
      }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }

  @Test
  void timeThatARequestHasWaited_goesAlong_andCountsHere() throws Exception {
    bothHave("far", false);
    first.then(BareHost.breakingOff("", 0));
    second.then("200 OK", OK);
    long began = System.nanoTime();
    ask(infer("far", "{}").header("Pipelane-Waited-Us", "99999999999"));
    long waited = waitedNanos(first);
    assertTrue(waited >= 0 && waited <= waitedNanos(second), () -> waited + " " + second.received);
    assertTrue(waitedNanos(second) <= System.nanoTime() - began, second.received::toString);

    String timed = "{\"parameters\":{\"timeout\":60000000}," + ECHO.substring(1);
    HttpRequest.Builder forwarded =
        infer("echo", timed)
            .header("Pipelane-Forwarded", "a:80")
            .header("Pipelane-Waited-Us", "59000000");
    assertEquals(200, ask(forwarded).statusCode());
    assertTrue(patienceNanos <= Duration.ofSeconds(1).toNanos());
    registry.gone(first.url());
    registry.gone(second.url());
    registry.has(URI.create("http://10.0.0.5:8000"), "far", 1, false, Duration.ZERO);
    assertEquals(200, ask(forwarded).statusCode());
    assertTrue(patienceNanos > Duration.ofSeconds(1).toNanos(), "no known host is at the address");
    HttpRequest.Builder ofAClient = infer("echo", timed).header("Pipelane-Waited-Us", "59000000");
    assertEquals(200, ask(ofAClient).statusCode());
    assertTrue(patienceNanos > Duration.ofSeconds(1).toNanos());
  }

  @Test
  void timeThatAClientSaysItHasWaited_isNothingToAHostThatIsAlone() throws Exception {
    Backend backend = Backends.of(catalog, timed(EchoService.inline()));
    TransferMemory transfers = new TransferMemory(Arena.ofAuto().allocate(1 << 20));
    try (HttpServer alone = HttpServer.start(settings(Transport.AUTO), backend, transfers)) {
      String timed = "{\"parameters\":{\"timeout\":60000000}," + ECHO.substring(1);
      HttpRequest.Builder request =
          HttpRequest.newBuilder(URI.create(alone.url() + "/v2/models/echo/infer"))
              .header("Pipelane-Forwarded", "a:80")
              .header("Pipelane-Waited-Us", "59000000")
              .POST(BodyPublishers.ofString(timed));
      assertEquals(200, ask(request).statusCode());
      assertTrue(patienceNanos > Duration.ofSeconds(1).toNanos());
    }
  }

  private static long waitedNanos(BareHost host) {
    String micros = host.received.getFirst().fields().getOrDefault("pipelane-waited-us", "-1");
    return Duration.of(Long.parseLong(micros), ChronoUnit.MICROS).toNanos();
  }

  @Test
  void forwardedRequest_staysHere() throws Exception {
    bothHave("far", false);
    HttpResponse<String> answer = ask(infer("far", "{}").header("Pipelane-Forwarded", "a:80"));
    assertEquals(404, answer.statusCode());
    assertEquals(0, first.received.size() + second.received.size());
  }

  /** With this host's mark on it, another would run whatever model the message names. */
  @Test
  void bodyThatSaysItIsAMessage_isNotForwarded() throws Exception {
    stallNanos = 1_000_000_000;
    registry.has(first.url(), "echo", 2, false, Duration.ZERO);
    registry.has(second.url(), "far", 1, false, Duration.ZERO);
    for (String model : List.of("echo", "far")) {
      HttpResponse<String> answer =
          ask(infer(model, "\n\004pair").header("Content-Type", "application/x-protobuf"));
      assertEquals(model.equals("echo") ? 400 : 404, answer.statusCode(), answer::body);
    }
    assertEquals(0, first.received.size() + second.received.size());
  }

  @Test
  void stepOfASequence_isNotSentTwice() throws Exception {
    registry.has(first.url(), "far", 1, true, Duration.ZERO);
    first.then(BareHost.breakingOff("", 0));
    HttpResponse<String> answer = ask("far");
    assertEquals(503, answer.statusCode());
    assertTrue(answer.body().contains("begin the sequence anew"), answer::body);
    assertEquals(1, first.received.size());
  }

  @Test
  void bodyThatIsCompressed_orInChunks_goesOnAsItIs() throws Exception {
    bothHave("far", false);
    ByteArrayOutputStream compressed = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(compressed)) {
      gzip.write("{}".getBytes(StandardCharsets.US_ASCII));
    }
    first.then("200 OK", OK).then("200 OK", OK.repeat(1000));
    HttpRequest.Builder zipped =
        request("/v2/models/far/infer")
            .POST(BodyPublishers.ofByteArray(compressed.toByteArray()))
            .header("Content-Encoding", "gzip");
    assertEquals(OK, ask(zipped).body());
    assertEquals("gzip", first.received.getFirst().fields().get("content-encoding"));
    assertEquals(
        compressed.toString(StandardCharsets.ISO_8859_1), first.received.getFirst().body());
    HttpRequest.Builder chunked =
        request("/v2/models/far/infer")
            .POST(BodyPublishers.fromPublisher(BodyPublishers.ofString("{\"a\":2}")))
            .header("Accept-Encoding", "gzip");
    HttpResponse<String> answer = ask(chunked);
    assertEquals("gzip", answer.headers().firstValue("Content-Encoding").orElse(""));
    assertNull(first.received.get(1).fields().get("accept-encoding"));
    assertNull(first.received.get(1).fields().get("transfer-encoding"));
    assertEquals("{\"a\":2}", first.received.get(1).body());
  }

  @Test
  void clientOfHttp2_isServedTheSame() throws Exception {
    bothHave("far", false);
    first.then("200 OK", OK).then("200 OK", OK);
    try (HttpClient modern = HttpClient.newBuilder().version(Version.HTTP_2).build()) {
      for (int i = 0; i < 2; i++) {
        HttpRequest asking =
            HttpRequest.newBuilder(URI.create(server.url() + "/v2/models/far/infer"))
                .POST(BodyPublishers.ofString("{}"))
                .build();
        assertEquals(OK, modern.send(asking, BodyHandlers.ofString()).body());
      }
    }
  }

  @Test
  void whatIsSaidOfAModel_isAskedWhereItIs_andManagementNever() throws Exception {
    bothHave("far", false);
    first.then("200 OK", OK).then("200 OK", "").then("200 OK", OK);
    assertEquals(OK, ask(request("/v2/models/far")).body());
    assertEquals(200, ask(request("/v2/models/far/versions/1/ready")).statusCode());
    assertEquals("", ask(request("/v2/models/far").method("HEAD", BodyPublishers.noBody())).body());
    assertEquals(
        List.of(
            "GET /v2/models/far HTTP/1.1",
            "GET /v2/models/far/versions/1/ready HTTP/1.1",
            "GET /v2/models/far HTTP/1.1"),
        first.received.stream().map(Received::line).toList());
    assertEquals(
        404,
        ask(request("/v2/repository/models/far/unload").POST(BodyPublishers.noBody()))
            .statusCode());
    assertEquals(404, ask(request("/v2/models/far/stats")).statusCode());
    assertEquals(3, first.received.size());
  }

  @Test
  void others_areListedWithWhatIsKnownOfThem() throws Exception {
    try (ClosedPort closed = new ClosedPort()) {
      URI nobody = closed.url();
      registry.has(nobody, "far", 3, false, Duration.ofMillis(2));
      String known = ask(request("/v2/hosts")).body();
      assertTrue(known.contains("\"name\":\"" + nobody.getAuthority() + "\""), known);
      assertTrue(known.contains("\"state\":\"READY\""), known);
      assertTrue(known.contains("\"wait_us\":2000"), known);
      assertTrue(known.contains("{\"name\":\"far\",\"version\":3,\"stall_us\":0}"), known);
      assertEquals(503, ask("far").statusCode());
      assertTrue(ask(request("/v2/hosts")).body().contains("\"state\":\"SUSPECT\""));
      registry.gone(nobody);
      assertTrue(ask(request("/v2/hosts")).body().contains("\"hosts\":[]"));
    }
  }

  @Test
  void hostThatLeaves_saysSo() {
    assertTrue(registry.word().contains("\"echo\",2"), registry::word);
    hosts.leave();
    assertTrue(registry.word().contains("\"leaving\":true"), registry::word);
    assertTrue(registry.word().contains("\"models\":[]"), registry::word);
  }
}
