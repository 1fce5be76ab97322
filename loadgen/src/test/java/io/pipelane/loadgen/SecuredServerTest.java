package io.pipelane.loadgen;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc.GRPCInferenceServiceImplBase;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.protocol.grpc.ModelMetadataRequest;
import io.pipelane.protocol.grpc.ModelMetadataResponse;
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
import org.jspecify.annotations.Nullable;
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
  private @Nullable Server grpcServer;

  SecuredServerTest() throws IOException {
    server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
  }

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    KeyStore keys = keys(folder.resolve("keys.p12"));
    authority = folder.resolve("authority.pem");
    writePem(authority, "CERTIFICATE", keys.getCertificate("server").getEncoded());
    Path key = folder.resolve("key.pem");
    writePem(key, "PRIVATE KEY", keys.getKey("server", PASSWORD.toCharArray()).getEncoded());
    grpcServer =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .useTransportSecurity(authority.toFile(), key.toFile())
            .addService(new OneModel())
            .build()
            .start();
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
    requireNonNull(grpcServer).shutdownNow();
  }

  @Test
  void grpcs_authorities_decideLikewise() {
    String url = "grpcs://127.0.0.1:" + requireNonNull(grpcServer).getPort();

    assertEquals(ExitStatus.OTHER.code(), executeAt(url));
    assertEquals(0, inferences.get());
    assertNotEquals(ExitStatus.OTHER.code(), executeAt(url, "--insecure"), err.toString());
    assertNotEquals(
        ExitStatus.OTHER.code(), executeAt(url, "--ca", authority.toString()), err.toString());
    assertEquals(80, inferences.getAndSet(0), out.toString());
  }

  @Test
  void https_unknownAuthority_isRefused() {
    assertEquals(ExitStatus.OTHER.code(), execute());
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

    assertEquals(ExitStatus.WRONG_OPTION.code(), execute("--ca", empty.toString()));
  }

  private void assertMeasures(String... arguments) {
    inferences.set(0);
    int status = execute(arguments);

    assertNotEquals(ExitStatus.OTHER.code(), status, err.toString());
    assertEquals(40, inferences.get(), out.toString());
    inferences.set(0);
  }

  private int execute(String... arguments) {
    return executeAt("https://127.0.0.1:" + server.getAddress().getPort(), arguments);
  }

  private int executeAt(String url, String... arguments) {
    List<String> all =
        new ArrayList<>(
            List.of(
                "-u",
                url,
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

  private static void writePem(Path file, String kind, byte[] content) throws IOException {
    String text = Base64.getMimeEncoder().encodeToString(content);
    Files.writeString(
        file, "-----BEGIN %s-----\n%s\n-----END %s-----\n".formatted(kind, text, kind));
  }

  /** Answers what is asked of a model without outputs. */
  private final class OneModel extends GRPCInferenceServiceImplBase {
    @Override
    public void modelMetadata(
        ModelMetadataRequest request, StreamObserver<ModelMetadataResponse> answers) {
      answers.onNext(ModelMetadataResponse.newBuilder().setName(request.getName()).build());
      answers.onCompleted();
    }

    @Override
    public void modelInfer(ModelInferRequest request, StreamObserver<ModelInferResponse> answers) {
      inferences.incrementAndGet();
      answers.onNext(ModelInferResponse.getDefaultInstance());
      answers.onCompleted();
    }
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
