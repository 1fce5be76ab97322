package io.pipelane.server.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import io.pipelane.server.cli.CommandLineFixture.Outcome;
import io.pipelane.server.net.Certificates;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Commands against a server that asks its clients for a certificate. */
@Timeout(60)
class ClientTlsTest {
  @TempDir private static Path folder;
  private HttpsServer server;

  @BeforeAll
  static void makeCertificates() throws Exception {
    Certificates.make(folder, "server");
    Certificates.make(folder, "client");
  }

  private static Path file(String name) {
    return folder.resolve(name);
  }

  @BeforeEach
  void start() throws IOException {
    SSLContext tls = ClientTls.of(file("client.pem"), file("server.pem"), file("server.key"));
    server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setHttpsConfigurator(
        new HttpsConfigurator(tls) {
          @Override
          public void configure(HttpsParameters parameters) {
            SSLParameters all = tls.getDefaultSSLParameters();
            all.setNeedClientAuth(true);
            parameters.setSSLParameters(all);
          }
        });
    server.createContext(
        "/",
        exchange -> {
          byte[] none = "[]".getBytes(StandardCharsets.UTF_8);
          exchange.getResponseHeaders().set("content-type", "application/json");
          exchange.sendResponseHeaders(200, none.length);
          exchange.getResponseBody().write(none);
          exchange.close();
        });
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private Outcome models(String... options) {
    List<String> arguments = new ArrayList<>();
    arguments.add("models");
    arguments.add("--url");
    arguments.add("https://localhost:" + server.getAddress().getPort());
    arguments.add("--ca");
    arguments.add(file("server.pem").toString());
    arguments.addAll(List.of(options));
    return CommandLineFixture.run(arguments.toArray(String[]::new));
  }

  @Test
  void aCommandSaysWhoItIs() {
    Outcome known =
        models("--cert", file("client.pem").toString(), "--key", file("client.key").toString());
    assertEquals(0, known.exitCode(), known::err);
  }

  @Test
  void withoutACertificate_orWithAnothers_itIsTurnedAway() {
    assertNotEquals(0, models().exitCode());
    Outcome wrong =
        models("--cert", file("server.pem").toString(), "--key", file("server.key").toString());
    assertNotEquals(0, wrong.exitCode());
  }

  @Test
  void halfAnIdentity_andFilesOfTwo_areRefusedByName() {
    Outcome half = models("--cert", file("client.pem").toString());
    assertNotEquals(0, half.exitCode());
    assertTrue(half.err().contains("--cert and --key belong together"), half::err);
    Outcome mixed =
        models("--cert", file("client.pem").toString(), "--key", file("server.key").toString());
    assertNotEquals(0, mixed.exitCode());
    assertTrue(mixed.err().contains("is not that of the certificate"), mixed::err);
  }
}
