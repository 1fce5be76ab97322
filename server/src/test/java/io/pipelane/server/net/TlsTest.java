package io.pipelane.server.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.netty.handler.ssl.SslContext;
import io.pipelane.config.StatusException;
import io.pipelane.server.grpc.GrpcServer;
import io.pipelane.server.hosts.FakeRegistry;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.hosts.LocalLoad;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.http.FakeCatalog;
import io.pipelane.server.http.HttpServer;
import io.pipelane.server.http.HttpSettings;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the front ends show and demand over TLS. */
@Timeout(60)
class TlsTest extends TlsFixture {
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

  @Test
  void filesThatCannotBeUsed_areNamed() {
    Path absent = folder.resolve("absent.pem");
    StatusException error =
        assertThrows(
            StatusException.class, () -> Tls.open(new Tls.Files(absent, absent, Optional.empty())));
    assertTrue(String.valueOf(error.getMessage()).contains("absent.pem"));
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
    String message = String.valueOf(error.getMessage());
    assertTrue(message.contains("is not that of the certificate"), message);
    assertTrue(
        message.startsWith("TLS cannot be had of server.tls-certificate " + folder), message);
  }
}
