package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.ModelMetadataRequest;
import io.pipelane.protocol.grpc.ModelMetadataResponse;
import io.pipelane.server.access.Keys;
import io.pipelane.server.access.TestTokens;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** However much is logged, nobody's key or token is in it. */
@Timeout(120)
class SecretsInLogsTest {
  private static final String KEY = "a-key-that-is-good-for-everything";
  private static final String WRONG_KEY = "a-key-that-nobody-has-given-out";
  private static final String COLLECTORS = "what-the-collector-of-spans-is-told";
  private static final List<String> NAMED_HEADERS = List.of("authorization", "x-api-key");

  @TempDir private Path folder = Path.of("");

  /** Everything that is logged, as it would be written. */
  private static final class Log extends Handler implements AutoCloseable {
    private final Logger root = Logger.getLogger("");
    private final StringWriter text = new StringWriter();

    Log() {
      setLevel(Level.ALL);
      root.addHandler(this);
    }

    @Override
    public synchronized void publish(LogRecord line) {
      text.append(new SimpleFormatter().format(line));
      if (line.getThrown() != null) {
        line.getThrown().printStackTrace(new PrintWriter(text));
      }
    }

    synchronized String text() {
      return text.toString();
    }

    @Override
    public void flush() {
      // Nothing is kept back.
    }

    @Override
    public void close() {
      root.removeHandler(this);
    }
  }

  /** A collector of spans that takes nothing, which is logged. */
  private static HttpServer refusingCollector() throws IOException {
    HttpServer collector =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    collector.createContext(
        "/",
        exchange -> {
          exchange.getRequestBody().readAllBytes();
          exchange.sendResponseHeaders(401, -1);
          exchange.close();
        });
    collector.start();
    return collector;
  }

  private Map<String, String> settings(HttpServer collector) throws Exception {
    Path keys = folder.resolve("keys.yaml");
    Files.writeString(
        keys,
        "keys:\n" + Keys.entry(KEY, "roles: [infer, manage, observe]").replaceFirst(KEY, "k"));
    TestTokens.access(folder).close();
    Path headers = folder.resolve("headers");
    Files.writeString(headers, "authorization: " + COLLECTORS);
    return Map.of(
        "server.grpc-port",
        "0",
        "tracing.endpoint",
        "http://127.0.0.1:%d/v1/traces".formatted(collector.getAddress().getPort()),
        "tracing.headers",
        headers.toString(),
        "security.api-keys",
        keys.toString(),
        "security.jwt-keys",
        folder.resolve("jwks.json").toString(),
        "security.jwt-issuer",
        "https://login.example/",
        "security.jwt-audience",
        "pipelane");
  }

  @Test
  void keysAndTokens_areNeverLogged() throws Exception {
    List<String> secrets = List.of(KEY, WRONG_KEY, TestTokens.of("infer"));
    HttpServer collector = refusingCollector();
    try (OwnedRepository owned = new OwnedRepository(folder);
        Log log = new Log()) {
      owned.model("small", 1, 1);
      try (PipelaneServer server = owned.start(settings(collector))) {
        askFor(owned, server, KEY, "logging", "{\"log_verbose_level\":9,\"log_info\":true}");
        for (String secret : secrets) {
          askFor(owned, server, secret, "models/small/infer", OwnedRepository.REQUEST);
          askFor(owned, server, secret, "models/none/infer", OwnedRepository.REQUEST);
          askFor(owned, server, secret, "models/small/infer", "{ no JSON");
          askFor(owned, server, secret, "repository/models/small/load", "");
          askOverGrpc(server, secret);
        }
        askFor(owned, server, KEY, "logging", "{\"log_verbose_level\":0}"); // It is the process's.
      }
      collector.stop(0);
      String text = log.text();
      assertTrue(text.contains("small"), "the log has what the server does");
      for (String secret : secrets) {
        assertFalse(text.contains(secret), () -> secret + " is in the log");
      }
      assertTrue(text.contains("Failed to export spans"), "the collector is told of");
      assertFalse(text.contains(COLLECTORS), "what the collector is told is in the log");
      String signature =
          new ObjectMapper()
              .readTree(folder.resolve("jwks.json").toFile())
              .at("/keys/2/k")
              .asText();
      assertTrue(signature.length() > 20, "a key that signs tokens");
      assertFalse(text.contains(signature), "what signs tokens is in the log");
    }
  }

  private static void askFor(
      OwnedRepository owned, PipelaneServer server, String secret, String path, String body)
      throws Exception {
    for (String header : NAMED_HEADERS) {
      int status =
          owned
              .send(
                  HttpRequest.newBuilder(URI.create(server.url() + "/v2/" + path))
                      .header(header, header.equals("x-api-key") ? secret : "Bearer " + secret)
                      .POST(BodyPublishers.ofString(body)))
              .statusCode();
      assertEquals(secret.equals(KEY), status != 401, path);
    }
  }

  private static void askOverGrpc(PipelaneServer server, String secret) {
    ManagedChannel channel =
        NettyChannelBuilder.forTarget(server.grpcAddress().orElseThrow()).usePlaintext().build();
    try {
      for (String header : NAMED_HEADERS) {
        Metadata headers = new Metadata();
        headers.put(
            Metadata.Key.of(header, Metadata.ASCII_STRING_MARSHALLER),
            header.equals("x-api-key") ? secret : "Bearer " + secret);
        boolean isAnswered;
        try {
          ModelMetadataResponse _ =
              GRPCInferenceServiceGrpc.newBlockingStub(channel)
                  .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
                  .modelMetadata(ModelMetadataRequest.newBuilder().setName("small").build());
          isAnswered = true;
        } catch (StatusRuntimeException e) {
          isAnswered = false;
        }
        assertEquals(secret.equals(KEY), isAnswered, header);
      }
    } finally {
      channel.shutdownNow();
    }
  }
}
