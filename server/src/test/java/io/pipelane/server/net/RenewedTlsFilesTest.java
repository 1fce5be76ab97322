package io.pipelane.server.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.StatusRuntimeException;
import io.grpc.util.AdvancedTlsX509KeyManager;
import io.pipelane.server.grpc.GrpcServer;
import io.pipelane.server.http.HttpServer;
import java.io.IOException;
import java.nio.file.Files;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Filter;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Certificates, keys and authorities whose files change while the server runs. */
@Timeout(60)
class RenewedTlsFilesTest extends TlsFixture {
  private static void show(String name, AdvancedTlsX509KeyManager by) throws Exception {
    TlsIdentity shown =
        TlsIdentity.read(folder.resolve(name + ".pem"), folder.resolve(name + ".key"));
    by.updateIdentityCredentials(shown.chain().toArray(X509Certificate[]::new), shown.key());
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
