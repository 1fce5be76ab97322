package io.pipelane.server.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.ManagedChannel;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.util.AdvancedTlsX509KeyManager;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.ServerLiveRequest;
import io.pipelane.server.grpc.GrpcServer;
import io.pipelane.server.grpc.GrpcSettings;
import io.pipelane.server.hosts.FakeRegistry;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.hosts.LocalLoad;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.http.FakeCatalog;
import io.pipelane.server.http.HttpServer;
import io.pipelane.server.http.HttpSettings;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Filter;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.IntStream;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Both front ends over TLS; certificates are made with openssl, where that is installed. */
@Timeout(60)
class TlsTest {
  @TempDir private static Path folder;

  @BeforeAll
  static void makeCertificates() throws Exception {
    make("server");
    make("client");
  }

  private static void make(String name) throws Exception {
    Certificates.make(folder, name);
  }

  private static Tls tls(boolean mutual) {
    return Tls.open(
        new Tls.Files(
            folder.resolve("server.pem"),
            folder.resolve("server.key"),
            mutual ? Optional.of(folder.resolve("client.pem")) : Optional.empty()));
  }

  private static TransferMemory transferMemory() {
    return new TransferMemory(Arena.ofAuto().allocate(1 << 20));
  }

  private static HttpServer http(Tls tls) {
    HttpSettings settings =
        new HttpSettings(
            "127.0.0.1",
            0,
            Transport.AUTO,
            1,
            8 << 20,
            8,
            Duration.ofSeconds(20),
            Optional.of(tls));
    return HttpServer.start(
        settings, Backends.of(FakeCatalog.usual(), EchoService.inline()), transferMemory());
  }

  private static GrpcServer grpc(Tls tls) {
    GrpcSettings settings =
        new GrpcSettings(
            "127.0.0.1",
            0,
            Transport.AUTO,
            1,
            8 << 20,
            16,
            Duration.ofSeconds(20),
            Optional.of(tls));
    return GrpcServer.start(
        settings, Backends.of(FakeCatalog.usual(), EchoService.inline()), transferMemory());
  }

  /** What trusts a server, and may have something to show to those that ask for a certificate. */
  private static SSLContext trusting(Path certificate, KeyManager... own) throws Exception {
    var trust =
        io.grpc.util.AdvancedTlsX509TrustManager.newBuilder()
            .setVerification(
                io.grpc.util.AdvancedTlsX509TrustManager.Verification.CERTIFICATE_ONLY_VERIFICATION)
            .build();
    trust.updateTrustCredentials(certificate.toFile());
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(own, new TrustManager[] {trust}, null);
    return context;
  }

  private static void show(String name, AdvancedTlsX509KeyManager by) throws Exception {
    TlsIdentity shown =
        TlsIdentity.read(folder.resolve(name + ".pem"), folder.resolve(name + ".key"));
    by.updateIdentityCredentials(shown.chain().toArray(X509Certificate[]::new), shown.key());
  }

  @Test
  void http_isAnsweredOverTls() throws Exception {
    try (Tls tls = tls(false);
        HttpServer server = http(tls)) {
      assertTrue(server.url().startsWith("https://"));
      assertTrue(get(server.address()).startsWith("HTTP/1.1 200 OK"));
    }
  }

  @Test
  void http2_isWhatClientsAgreeOnThatSpeakIt() throws Exception {
    try (Tls tls = tls(false);
        HttpServer server = http(tls);
        HttpClient client =
            HttpClient.newBuilder()
                .version(Version.HTTP_2)
                .sslContext(trusting(folder.resolve("server.pem")))
                .build()) {
      URI live = URI.create(server.url() + "/v2/health/live");
      client.send(HttpRequest.newBuilder(live).build(), BodyHandlers.discarding());
      URI echo = URI.create(server.url() + "/v2/models/echo/infer");
      List<CompletableFuture<HttpResponse<String>>> answers =
          IntStream.range(0, 100) // All of them at once, on the connection that is open now.
              .mapToObj(i -> BodyPublishers.ofString(request(i)))
              .map(body -> HttpRequest.newBuilder(echo).POST(body).build())
              .map(request -> client.sendAsync(request, BodyHandlers.ofString()))
              .toList();
      for (int i = 0; i < answers.size(); i++) {
        HttpResponse<String> answer = answers.get(i).get(30, TimeUnit.SECONDS);
        assertEquals(200, answer.statusCode());
        assertEquals(Version.HTTP_2, answer.version());
        assertTrue(answer.body().contains("\"id\":\"" + i + "\""), answer.body());
      }
    }
  }

  private static String request(int id) {
    return ("{\"id\":\"%d\",\"inputs\":[{\"name\":\"x\",\"shape\":[1,4],\"datatype\":\"FP32\","
            + "\"data\":[1,2,3,4]}]}")
        .formatted(id);
  }

  private static String get(InetSocketAddress address) throws Exception {
    return get(address, trusting(folder.resolve("server.pem")), "TLSv1.3");
  }

  private static String get(InetSocketAddress address, SSLContext client, String protocol)
      throws IOException {
    try (SSLSocket socket =
        (SSLSocket)
            client.getSocketFactory().createSocket(address.getAddress(), address.getPort())) {
      socket.setEnabledProtocols(new String[] {protocol});
      socket
          .getOutputStream()
          .write(
              "GET /v2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                  .getBytes(StandardCharsets.US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
    }
  }

  @Test
  void forwardedRequest_goesOverTls_toAHostThatIsTrustedAndTrusts() throws Exception {
    Tls.Files own =
        new Tls.Files(folder.resolve("client.pem"), folder.resolve("client.key"), Optional.empty());
    try (Tls tls = tls(true);
        Tls shown = Tls.open(own);
        HttpServer other = http(tls)) {
      Optional<Path> signed = Optional.of(folder.resolve("server.pem"));
      Optional<Path> wrong = Optional.of(folder.resolve("client.pem"));
      assertEquals(
          "answered", forwarded(other, OutgoingTls.open(signed, Optional.of(shown)).http()));
      assertEquals("lost", forwarded(other, OutgoingTls.open(signed, Optional.empty()).http()));
      assertEquals("lost", forwarded(other, OutgoingTls.open(wrong, Optional.of(shown)).http()));
    }
  }

  @Test
  void authoritiesOfOtherHostsThatChange_areThoseWhoAreTrusted() throws Exception {
    Path trusted = folder.resolve("trusted.pem");
    replace("trusted.pem", bytes("client.pem"), 1);
    try (Tls tls = tls(false);
        OutgoingTls outgoing = OutgoingTls.open(Optional.of(trusted), Optional.empty());
        HttpServer other = http(tls);
        GrpcServer etcd = grpc(tls)) {
      assertEquals("lost", forwarded(other, outgoing.http()));
      assertThrows(StatusRuntimeException.class, () -> isLive(etcd.address(), outgoing.grpc()));
      replace("trusted.pem", bytes("server.pem"), 2);
      outgoing.lookAgain();
      assertEquals("answered", forwarded(other, outgoing.http()));
      assertTrue(isLive(etcd.address(), outgoing.grpc()));
      replace("trusted.pem", new byte[0], 3);
      outgoing.lookAgain();
      assertEquals("answered", forwarded(other, outgoing.http()));
    }
  }

  /** How a request ends that one host is asked and that another one could begin sooner. */
  private static String forwarded(HttpServer other, SslContext tls) throws Exception {
    FakeRegistry registry = new FakeRegistry();
    FakeCatalog catalog = FakeCatalog.usual();
    LocalLoad load = new LocalLoad(EchoService.inline(), _ -> 1_000_000_000L, () -> 1);
    HttpSettings settings =
        new HttpSettings(
            "127.0.0.1",
            0,
            Transport.AUTO,
            1,
            8 << 20,
            8,
            Duration.ofSeconds(20),
            Optional.empty());
    try (Hosts hosts = registry.hosts(Duration.ofSeconds(30), tls);
        HttpServer server =
            HttpServer.start(
                settings, Backends.of(catalog, load), Optional.of(hosts), transferMemory());
        HttpClient client = HttpClient.newHttpClient()) {
      hosts.start(URI.create(server.url()), server.transport(), catalog, load);
      registry.has(URI.create(other.url()), "echo", 2, false, Duration.ZERO);
      URI echo = URI.create(server.url() + "/v2/models/echo/infer");
      HttpResponse<String> answer =
          client.send(
              HttpRequest.newBuilder(echo).POST(BodyPublishers.ofString(request(1))).build(),
              BodyHandlers.ofString());
      assertEquals(200, answer.statusCode(), answer::body);
      Map<String, Long> counts = hosts.counts().forwarded().values().iterator().next();
      return counts.entrySet().stream()
          .filter(count -> count.getValue() == 1)
          .map(Map.Entry::getKey)
          .findFirst()
          .orElse("none");
    }
  }

  @Test
  void clientWithoutACertificate_isTurnedAwayWhereOneIsNeeded() throws Exception {
    try (Tls tls = tls(true);
        HttpServer server = http(tls)) {
      assertThrows(IOException.class, () -> get(server.address()));
    }
  }

  @Test
  void grpc_isAnsweredToClientsWithACertificate() throws Exception {
    try (Tls tls = tls(true);
        GrpcServer server = grpc(tls)) {
      assertTrue(isLive(server.address(), true));
      assertEquals(
          Code.UNAVAILABLE,
          assertThrows(StatusRuntimeException.class, () -> isLive(server.address(), false))
              .getStatus()
              .getCode());
    }
  }

  private static boolean isLive(InetSocketAddress address, boolean withCertificate)
      throws Exception {
    SslContextBuilder context =
        GrpcSslContexts.forClient().trustManager(folder.resolve("server.pem").toFile());
    if (withCertificate) {
      context.keyManager(
          folder.resolve("client.pem").toFile(), folder.resolve("client.key").toFile());
    }
    return isLive(address, context.build());
  }

  private static boolean isLive(InetSocketAddress address, SslContext context) {
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", address.getPort()).sslContext(context).build();
    try {
      return GRPCInferenceServiceGrpc.newBlockingStub(channel)
          .serverLive(ServerLiveRequest.getDefaultInstance())
          .getLive();
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  void filesThatCannotBeUsed_areNamed() {
    Path absent = folder.resolve("absent.pem");
    StatusException error =
        assertThrows(
            StatusException.class, () -> Tls.open(new Tls.Files(absent, absent, Optional.empty())));
    assertTrue(String.valueOf(error.getMessage()).contains("absent.pem"));
  }

  /** Puts one file in another's place, at a time of its own. */
  private static void replace(String name, byte[] content, long seconds) throws IOException {
    Path file = folder.resolve(name);
    Files.write(file, content);
    Files.setLastModifiedTime(file, FileTime.fromMillis(1000 * seconds));
  }

  private static byte[] bytes(String name) throws IOException {
    return Files.readAllBytes(folder.resolve(name));
  }

  private static Tls rotating() throws IOException {
    return rotating(InstantSource.system());
  }

  private static Tls rotating(InstantSource clock) throws IOException {
    replace("rotating.pem", bytes("server.pem"), 1);
    replace("rotating.key", bytes("server.key"), 1);
    return Tls.open(
        new Tls.Files(
            folder.resolve("rotating.pem"), folder.resolve("rotating.key"), Optional.empty()),
        clock);
  }

  /** Fails unless the server shows the certificate of this name. */
  private static void shows(HttpServer server, String name) throws Exception {
    try (SSLSocket socket =
        (SSLSocket)
            trusting(folder.resolve(name + ".pem"))
                .getSocketFactory()
                .createSocket(server.address().getAddress(), server.address().getPort())) {
      socket.startHandshake();
    }
  }

  @Test
  void certificateThatIsRenewedForTheSameKey_isShown() throws Exception {
    Certificates.make(folder, "renewed", "-key server.key");
    try (Tls tls = rotating();
        HttpServer server = http(tls)) {
      shows(server, "server");
      replace("rotating.pem", bytes("renewed.pem"), 2);
      tls.lookAgain();
      shows(server, "renewed");
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {-3, 3})
  void certificateThatIsNotValid_doesNotTakeThePlaceOfAnother_untilItIs(long days)
      throws Exception {
    AtomicReference<Instant> now = new AtomicReference<>(Instant.now());
    Certificates.make(folder, "later", "-key server.key");
    try (Tls tls = rotating(now::get);
        HttpServer server = http(tls)) {
      replace("rotating.pem", bytes("later.pem"), 2);
      now.updateAndGet(time -> time.plus(Duration.ofDays(days)));
      tls.lookAgain();
      shows(server, "server");
      now.updateAndGet(time -> time.minus(Duration.ofDays(days)));
      tls.lookAgain();
      shows(server, "later");
    }
  }

  /** Nothing else could be shown, and clients that do not look at it are served. */
  @Test
  void certificateThatIsNotValid_isShownFromTheStart_andComplainedOfOnce() throws Exception {
    Logger logger = Logger.getLogger(Tls.class.getName());
    List<LogRecord> said = new CopyOnWriteArrayList<>();
    Filter before = logger.getFilter();
    logger.setFilter(record -> !said.add(record));
    try (Tls tls = rotating(() -> Instant.now().plus(Duration.ofDays(3)))) {
      tls.lookAgain();
    } finally {
      logger.setFilter(before);
    }
    assertEquals(1, said.size());
    assertTrue(String.valueOf(said.getFirst().getParameters()[0]).contains("Expired"));
  }

  @Test
  void certificateThatIsNotValidYet_isComplainedOfAgain_onceItHasExpired() throws Exception {
    AtomicReference<Instant> now = new AtomicReference<>(Instant.now().minus(Duration.ofDays(3)));
    Logger logger = Logger.getLogger(Tls.class.getName());
    List<LogRecord> said = new CopyOnWriteArrayList<>();
    Filter before = logger.getFilter();
    logger.setFilter(record -> !said.add(record));
    try (Tls tls = rotating(now::get)) {
      for (int i = 0; i < 2; i++) {
        tls.lookAgain();
        now.updateAndGet(time -> time.plus(Duration.ofDays(3)));
      }
      tls.lookAgain();
    } finally {
      logger.setFilter(before);
    }
    assertEquals(2, said.size());
    assertTrue(String.valueOf(said.get(0).getParameters()[0]).contains("NotYetValid"));
    assertTrue(String.valueOf(said.get(1).getParameters()[0]).contains("Expired"));
  }

  @Test
  void filesThatAreWrittenOneAfterTheOther_takeForceOnceBothAreThere() throws Exception {
    byte[] key = bytes("client.key");
    try (Tls tls = rotating();
        HttpServer server = http(tls)) {
      replace("rotating.key", Arrays.copyOf(key, key.length / 2), 2);
      tls.lookAgain();
      shows(server, "server");
      replace("rotating.key", key, 3);
      tls.lookAgain();
      shows(server, "server");
      Files.delete(folder.resolve("rotating.pem"));
      tls.lookAgain();
      shows(server, "server");
      replace("rotating.pem", bytes("client.pem"), 4);
      tls.lookAgain();
      shows(server, "client");
    }
  }

  @Test
  void filesThatCouldNotBeUsed_areTriedAgainThoughTheirTimesStay() throws Exception {
    try (Tls tls = rotating();
        HttpServer server = http(tls)) {
      replace("rotating.key", bytes("client.key"), 2);
      replace("rotating.pem", new byte[0], 2);
      tls.lookAgain();
      shows(server, "server");
      replace("rotating.pem", bytes("client.pem"), 2);
      tls.lookAgain();
      shows(server, "client");
    }
  }

  @Test
  void keyOfAnotherCertificate_isRefusedAtTheStart() {
    StatusException error =
        assertThrows(
            StatusException.class,
            () ->
                Tls.open(
                    new Tls.Files(
                        folder.resolve("server.pem"),
                        folder.resolve("client.key"),
                        Optional.empty())));
    assertTrue(String.valueOf(error.getMessage()).contains("is not that of the certificate"));
  }

  @Test
  void authoritiesThatChange_areThoseWhoseClientsAreLetIn() throws Exception {
    replace("authorities.pem", bytes("server.pem"), 1);
    try (Tls tls =
            Tls.open(
                new Tls.Files(
                    folder.resolve("server.pem"),
                    folder.resolve("server.key"),
                    Optional.of(folder.resolve("authorities.pem"))));
        GrpcServer server = grpc(tls)) {
      assertThrows(StatusRuntimeException.class, () -> isLive(server.address(), true));
      byte[] client = bytes("client.pem");
      replace("authorities.pem", Arrays.copyOf(client, client.length / 2), 2);
      tls.lookAgain();
      assertThrows(StatusRuntimeException.class, () -> isLive(server.address(), true));
      replace("authorities.pem", client, 3);
      tls.lookAgain();
      assertTrue(isLive(server.address(), true));
    }
  }

  /** One whose clients' authorities stand in a file of their own. */
  private static Tls asking() throws IOException {
    replace("asked.pem", bytes("client.pem"), 1);
    return Tls.open(
        new Tls.Files(
            folder.resolve("server.pem"),
            folder.resolve("server.key"),
            Optional.of(folder.resolve("asked.pem"))));
  }

  @ParameterizedTest
  @ValueSource(strings = {"TLSv1.3", "TLSv1.2"})
  void clientOfAnAuthorityThatIsTakenOut_doesNotResumeWhatItBegan(String protocol)
      throws Exception {
    AdvancedTlsX509KeyManager shown = new AdvancedTlsX509KeyManager();
    show("client", shown);
    SSLContext client = trusting(folder.resolve("server.pem"), shown);
    try (Tls tls = asking();
        HttpServer server = http(tls)) {
      assertTrue(get(server.address(), client, protocol).startsWith("HTTP/1.1 200 OK"));
      replace("asked.pem", bytes("server.pem"), 2);
      tls.lookAgain();
      assertThrows(IOException.class, () -> get(server.address(), client, protocol));
    }
  }

  /** As one is that has expired since. */
  @ParameterizedTest
  @ValueSource(strings = {"TLSv1.3", "TLSv1.2"})
  void certificateThatIsNotLetInAnyMore_isAskedForOnceSessionsAreForgotten(String protocol)
      throws Exception {
    AdvancedTlsX509KeyManager shown = new AdvancedTlsX509KeyManager();
    show("client", shown);
    SSLContext client = trusting(folder.resolve("server.pem"), shown);
    try (Tls tls = tls(true);
        HttpServer server = http(tls)) {
      assertTrue(get(server.address(), client, protocol).startsWith("HTTP/1.1 200 OK"));
      show("server", shown);
      assertTrue(get(server.address(), client, protocol).startsWith("HTTP/1.1 200 OK"));
      tls.forgetSessions();
      assertThrows(IOException.class, () -> get(server.address(), client, protocol));
      show("client", shown);
      assertTrue(get(server.address(), client, protocol).startsWith("HTTP/1.1 200 OK"));
    }
  }
}
