package io.pipelane.server.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.Ratio;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.observability.TraceSetting.Level;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.RequestAccount;
import io.pipelane.switcher.InferenceTimings;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class SpanCollectorTest {
  private static final ModelVersion MODEL = new ModelVersion("ocr", 3);
  private static final char[] PASSWORD = "changeit".toCharArray();

  /** What a collector was sent. */
  private record Sent(Headers headers, String body) {}

  @TempDir private Path folder = Path.of("");
  private final BlockingQueue<Sent> received = new LinkedBlockingQueue<>();
  private @Nullable HttpServer collector;

  SpanCollectorTest() {}

  @AfterEach
  void stop() {
    if (collector != null) {
      collector.stop(0);
    }
  }

  /** Has a collector take what comes, and tells where. */
  private URI serve(HttpServer server, String scheme) {
    collector = server;
    server.createContext(
        "/v1/traces",
        exchange -> {
          String body =
              new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.ISO_8859_1);
          Sent sent = new Sent(exchange.getRequestHeaders(), body);
          exchange.sendResponseHeaders(200, -1);
          exchange.close();
          received.add(sent);
        });
    server.start();
    return URI.create(scheme + "://127.0.0.1:" + server.getAddress().getPort() + "/v1/traces");
  }

  private URI plain() throws IOException {
    return serve(HttpServer.create(loopback(), 0), "http");
  }

  private static InetSocketAddress loopback() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  }

  /** A collector over https whose certificate, which signs itself, is put into a file. */
  private URI secure(Path certificate) throws Exception {
    Path store = folder.resolve("collector.p12");
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
            "-genkeypair",
            "-alias",
            "collector",
            "-keyalg",
            "EC",
            "-dname",
            "CN=collector",
            "-ext",
            "san=ip:127.0.0.1",
            "-storetype",
            "PKCS12",
            "-keystore",
            store.toString(),
            "-storepass",
            new String(PASSWORD));
    assertEquals(0, new ProcessBuilder(command).inheritIO().start().waitFor());
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream file = Files.newInputStream(store)) {
      keys.load(file, PASSWORD);
    }
    Files.writeString(
        certificate,
        "-----BEGIN CERTIFICATE-----\n"
            + Base64.getMimeEncoder().encodeToString(keys.getCertificate("collector").getEncoded())
            + "\n-----END CERTIFICATE-----\n");
    KeyManagerFactory managers =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    managers.init(keys, PASSWORD);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(managers.getKeyManagers(), null, null);
    HttpsServer server = HttpsServer.create(loopback(), 0);
    server.setHttpsConfigurator(new HttpsConfigurator(context));
    return serve(server, "https");
  }

  /** Traces a request, and sends its spans. */
  private static void trace(SpanCollector collector) {
    try (RequestTracing tracing = tracing(collector)) {
      answer(tracing);
    }
  }

  private static RequestTracing tracing(SpanCollector collector) {
    TraceSetting all = new TraceSetting(Level.TIMESTAMPS, 1, TraceSetting.UNLIMITED);
    return RequestTracing.to(collector, new Ratio(1), new TraceSettings(all));
  }

  private static void answer(RequestTracing tracing) {
    RequestAccount account = new InferenceStatistics(tracing).begin(MODEL, _ -> null);
    account.decoded(OptionalLong.empty());
    account.ran(new InferenceTimings(1_000_000, 2_000_000, 5_000_000));
    account.answered();
  }

  private Sent sent() throws InterruptedException {
    Sent sent = received.poll(30, TimeUnit.SECONDS);
    if (sent == null) {
      throw new AssertionError("nothing was sent");
    }
    return sent;
  }

  private Path file(String name, String text) throws IOException {
    return Files.writeString(folder.resolve(name), text);
  }

  @Test
  void collector_isSentOtlp() throws Exception {
    trace(new SpanCollector(plain(), Optional.empty(), Optional.empty()));
    Sent sent = sent();
    assertEquals("application/x-protobuf", sent.headers.getFirst("Content-Type"));
    for (String part : List.of("service.name", "pipelane", "infer", "stall", "ocr")) {
      assertTrue(sent.body.contains(part), part);
    }
  }

  @Test
  void collector_overTls_isTrustedByWhoSignedIt_andSentTheHeaders() throws Exception {
    Path certificate = folder.resolve("authorities.pem");
    URI endpoint = secure(certificate);
    Path headers = file("headers", "# for spans\nauthorization: Bearer a:b c\n\nX-Scope: prod\n");
    trace(new SpanCollector(endpoint, Optional.of(headers), Optional.of(certificate)));
    Sent sent = sent();
    assertEquals("Bearer a:b c", sent.headers.getFirst("authorization"));
    assertEquals("prod", sent.headers.getFirst("x-scope"));
  }

  @Test
  void collector_overTls_thatNobodyTrusted_isSentNothing() throws Exception {
    URI endpoint = secure(folder.resolve("unused.pem"));
    trace(new SpanCollector(endpoint, Optional.empty(), Optional.empty()));
    assertNull(received.poll());
  }

  @Test
  void headers_thatHaveChanged_areSentFromThenOn() throws Exception {
    Path headers = file("headers", "authorization: first");
    CollectorHeaders read = CollectorHeaders.in(headers);
    assertEquals("first", read.get().get("authorization"));
    change(headers, "authorization: second", 1);
    assertEquals("second", read.get().get("authorization"));
    change(headers, "no header", 2);
    assertEquals("second", read.get().get("authorization"), "what is wrong changes nothing");
  }

  private static void change(Path file, String text, int step) throws IOException {
    FileTime before = Files.getLastModifiedTime(file);
    Files.writeString(file, text);
    Files.setLastModifiedTime(file, FileTime.fromMillis(before.toMillis() + step * 1000L));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "authorization secret",
        ": secret",
        "authorization:",
        "author ization: secret",
        "authorization: secret\u0001",
        "content-type: secret",
        "a: secret\nA: secret",
      })
  void headers_thatAreNone_areRefused_withoutBeingRepeated(String text) throws IOException {
    Path headers = file("headers", "x: y\n" + text);
    String message = refusal(Optional.of(headers), Optional.empty());
    assertTrue(message.startsWith("tracing.headers: " + headers + " line "), message);
    assertFalse(message.contains("secret"), message);
  }

  @Test
  void filesThatCannotBeUsed_areRefused() throws IOException {
    Path nowhere = folder.resolve("nowhere");
    assertTrue(refusal(Optional.of(nowhere), Optional.empty()).startsWith("tracing.headers: "));
    for (Path wrong : List.of(nowhere, file("empty.pem", ""), file("wrong.pem", "no PEM"))) {
      String message = refusal(Optional.empty(), Optional.of(wrong));
      assertTrue(message.startsWith("tracing.authorities, " + wrong), message);
    }
  }

  private static String refusal(Optional<Path> headers, Optional<Path> authorities) {
    SpanCollector collector =
        new SpanCollector(URI.create("https://127.0.0.1:1/v1/traces"), headers, authorities);
    StatusException error = assertThrows(StatusException.class, collector::exporter);
    assertEquals(Status.INVALID_ARGUMENT, error.status());
    return String.valueOf(error.getMessage());
  }
}
