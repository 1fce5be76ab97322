package io.pipelane.loadgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** TLS against a server whose certificate, for 127.0.0.1, nobody but itself vouches for. */
@Timeout(60)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SecuredServerTest {
  private static final String PASSWORD = "for tests";
  private static final String METADATA =
      """
      {"name":"m","inputs":[{"name":"x","datatype":"FP32","shape":[-1,4]}],"outputs":[]}""";

  private final AtomicInteger inferences = new AtomicInteger();
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private Path authority = Path.of("authority.pem");
  private final HttpsServer server;

  SecuredServerTest() throws IOException {
    server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
  }

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    KeyStore keys = keys(folder.resolve("keys.p12"));
    authority = folder.resolve("authority.pem");
    Files.writeString(
        authority,
        "-----BEGIN CERTIFICATE-----\n"
            + Base64.getMimeEncoder().encodeToString(keys.getCertificate("server").getEncoded())
            + "\n-----END CERTIFICATE-----\n");
    KeyManagerFactory managers = KeyManagerFactory.getInstance("PKIX");
    managers.init(keys, PASSWORD.toCharArray());
    SSLContext security = SSLContext.getInstance("TLS");
    security.init(managers.getKeyManagers(), null, null);
    server.setExecutor(threads); // it keeps one for each connection
    server.setHttpsConfigurator(new HttpsConfigurator(security));
    server.createContext(
        "/",
        exchange -> {
          exchange.getRequestBody().readAllBytes();
          String path = exchange.getRequestURI().getPath();
          if (path.endsWith("/infer")) {
            inferences.incrementAndGet();
          }
          byte[] body = (path.endsWith("/m") ? METADATA : "{}").getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
  }

  @AfterAll
  void stop() {
    server.stop(0);
    threads.shutdownNow();
  }

  @Test
  void https_unknownAuthority_isRefused() {
    assertEquals(Loadgen.OTHER, execute());
    assertTrue(err.toString().contains("certif"), err.toString());
    assertEquals(0, inferences.get());
  }

  @Test
  void https_authorityFromAFile_isMeasured() {
    assertMeasures("--ca", authority.toString());
  }

  @Test
  void https_insecure_isMeasured() {
    assertMeasures("--insecure");
  }

  @Test
  void https_authorityWithoutACertificate_isAWrongOption(@TempDir Path folder) throws Exception {
    Path empty = Files.writeString(folder.resolve("empty.pem"), "");

    assertEquals(Loadgen.WRONG_OPTION, execute("--ca", empty.toString()));
  }

  private void assertMeasures(String... arguments) {
    inferences.set(0);
    int status = execute(arguments);

    assertNotEquals(Loadgen.OTHER, status, err.toString());
    assertEquals(40, inferences.get(), out.toString());
    inferences.set(0);
  }

  private int execute(String... arguments) {
    List<String> all =
        new ArrayList<>(
            List.of(
                "-u",
                "https://127.0.0.1:" + server.getAddress().getPort(),
                "-m",
                "m",
                "--concurrency",
                "2",
                "--request-count",
                "40",
                "--warmup",
                "0s"));
    all.addAll(List.of(arguments));
    CommandLine commandLine = Loadgen.commandLine();
    commandLine.setOut(new PrintWriter(out, true));
    commandLine.setErr(new PrintWriter(err, true));
    return commandLine.execute(all.toArray(String[]::new));
  }

  private static KeyStore keys(Path file) throws Exception {
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "server",
                "-keyalg",
                "EC",
                "-dname",
                "CN=test",
                "-ext",
                "san=ip:127.0.0.1",
                "-storetype",
                "PKCS12",
                "-keystore",
                file.toString(),
                "-storepass",
                PASSWORD)
            .inheritIO()
            .start();
    assertEquals(0, keytool.waitFor());
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(file)) {
      keys.load(in, PASSWORD.toCharArray());
    }
    return keys;
  }
}
