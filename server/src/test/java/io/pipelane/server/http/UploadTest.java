package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.modelstore.repository.RepositoryWriter;
import io.pipelane.server.access.ManagementLog;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ModelCatalog.State;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.CapturedLog;
import io.pipelane.server.net.Transport;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Uploads over real sockets, as they wait for the disk on threads of their own. */
@Timeout(60)
class UploadTest {
  private static final ByteSize LIMIT = new ByteSize(64 << 20);

  @TempDir Path root;

  private final FakeCatalog catalog = FakeCatalog.usual();
  private final HttpServer server =
      HttpServer.start(
          new HttpSettings(
              "127.0.0.1",
              0,
              Transport.AUTO,
              1,
              1 << 20,
              16,
              Duration.ofSeconds(20),
              Optional.empty()),
          Backends.of(catalog, EchoService.inline()),
          new TransferMemory(Arena.ofAuto().allocate(1 << 20)));
  private final HttpClient client = HttpClient.newHttpClient();

  @BeforeEach
  void open() {
    catalog.writer = new RepositoryWriter(root, LIMIT, new Random(7));
  }

  @AfterEach
  void close() {
    client.close();
    server.close();
  }

  private HttpResponse<String> put(String path, byte[] body, String... fields)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(server.url() + "/v2/repository/models/" + path))
            .PUT(BodyPublishers.ofByteArray(body));
    if (fields.length > 0) {
      request.headers(fields);
    }
    return client.send(request.build(), BodyHandlers.ofString());
  }

  private List<String> entries() throws IOException {
    try (Stream<Path> entries = Files.list(root)) {
      return entries.map(entry -> entry.getFileName().toString()).toList();
    }
  }

  @Test
  void largeFile_isStoredWithoutBeingHeldInMemory() throws Exception {
    byte[] body = new byte[(32 << 20) + 1];
    new Random(3).nextBytes(body);
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(body);
    String field = "sha-256=:" + Base64.getEncoder().encodeToString(digest) + ":";
    HttpResponse<String> stored = put("m/versions/12", body, "Content-Digest", field);
    assertEquals(201, stored.statusCode(), stored.body());
    assertEquals(
        "{\"name\":\"m\",\"version\":\"12\",\"bytes\":%d,\"sha256\":\"%s\"}"
            .formatted(body.length, HexFormat.of().formatHex(digest)),
        stored.body());
    assertArrayEquals(body, Files.readAllBytes(root.resolve("m/12/model.onnx")));
    assertEquals(400, put("m/versions/12", new byte[5]).statusCode());
    assertEquals(List.of("m"), entries());
  }

  @Test
  void deletedVersion_isNoneThatWasUploaded() throws Exception {
    assertEquals(201, put("m/versions/1", new byte[9]).statusCode());
    URI version = URI.create(server.url() + "/v2/repository/models/m/versions/1");
    HttpRequest asking = HttpRequest.newBuilder(version).build();
    assertEquals(200, client.send(asking, BodyHandlers.ofString()).statusCode());
    HttpRequest deleting = HttpRequest.newBuilder(version).DELETE().build();
    assertEquals(200, client.send(deleting, BodyHandlers.ofString()).statusCode());
    assertEquals(404, client.send(asking, BodyHandlers.ofString()).statusCode());
  }

  @Test
  void uploadAndDeletion_areLogged() throws Exception {
    URI version = URI.create(server.url() + "/v2/repository/models/m/versions/1");
    try (CapturedLog log = new CapturedLog()) {
      assertEquals(201, put("m/versions/1", new byte[9]).statusCode());
      HttpRequest deleting = HttpRequest.newBuilder(version).DELETE().build();
      assertEquals(200, client.send(deleting, BodyHandlers.ofString()).statusCode());
      assertEquals(
          List.of(
              "m/1 has been uploaded, by somebody without a key",
              "m/1 is deleted, by somebody without a key"),
          log.texts(ManagementLog.class));
    }
  }

  @Test
  void emptyBody_isRefused() throws Exception {
    HttpResponse<String> refused = put("m/versions/1", new byte[0]);
    assertEquals(400, refused.statusCode());
    assertTrue(refused.body().contains("no byte"), refused.body());
    assertEquals(List.of(), entries());
  }

  @Test
  void wrongDigest_leavesNothing() throws Exception {
    String other = "sha-256=:" + Base64.getEncoder().encodeToString(new byte[32]) + ":";
    assertEquals(400, put("m/versions/1", new byte[9], "Content-Digest", other).statusCode());
    assertEquals(400, put("m/versions/1", new byte[9], "Content-Digest", "md5=:x:").statusCode());
    assertEquals(
        400, put("m/versions/1", new byte[9], "Content-Type", "application/zip").statusCode());
    assertEquals(501, put("m/versions/1", new byte[9], "Content-Encoding", "gzip").statusCode());
    assertEquals(List.of(), entries());
  }

  @Test
  void uploadsThatAreNotAllowed_areRefusedBeforeTheBody() throws Exception {
    try (Socket socket = new Socket(server.address().getAddress(), server.address().getPort())) {
      String head =
          Requests.head("PUT /v2/repository/models/m/versions/1", "Content-Length: %d\r\n")
              .formatted(LIMIT.bytes() + 1);
      socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      socket.shutdownOutput();
      Reply reply = Reply.all(socket.getInputStream().readAllBytes()).getFirst();
      assertEquals(413, reply.status());
      assertTrue(reply.text().contains("repository.upload-limit"), reply.text());
    }
    catalog.writer = null;
    HttpResponse<String> refused = put("m/versions/1", new byte[5]);
    assertEquals(501, refused.statusCode());
    assertTrue(refused.body().contains("repository.upload"), refused.body());
  }

  private HttpResponse<String> options() throws IOException, InterruptedException {
    URI uri = URI.create(server.url() + "/v2/repository/models/m/options");
    return client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
  }

  @Test
  void options_areWrittenAndRead() throws Exception {
    assertEquals(404, options().statusCode());
    String yaml = "priority: offline # for the night\n";
    byte[] body = yaml.getBytes(StandardCharsets.UTF_8);
    assertEquals(200, put("m/options", body).statusCode());
    assertEquals(yaml, options().body());
    assertEquals("application/yaml", options().headers().firstValue("content-type").orElse(""));
    HttpResponse<String> refused =
        put("m/options", "priority: never".getBytes(StandardCharsets.UTF_8));
    assertEquals(400, refused.statusCode());
    assertTrue(refused.body().contains("priority"), refused.body());
    assertEquals(413, put("m/options", new byte[(256 << 10) + 1]).statusCode());
    assertEquals(yaml, options().body());
    catalog.writer = null;
    assertEquals(501, options().statusCode());
    assertEquals(501, put("m/options", body).statusCode());
  }

  private HttpResponse<String> progress(String version) throws Exception {
    URI uri = URI.create(server.url() + "/v2/repository/models/m/versions/" + version);
    return client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
  }

  private void awaitProgress(String version, String part) throws Exception {
    while (!progress(version).body().contains(part)) {
      Thread.onSpinWait();
    }
  }

  @Test
  void progress_isToldUntilItIsStored() throws Exception {
    assertEquals(404, progress("1").statusCode());
    try (Socket socket = new Socket(server.address().getAddress(), server.address().getPort())) {
      String head =
          Requests.head("PUT /v2/repository/models/m/versions/1", "Content-Length: 9\r\n");
      socket.getOutputStream().write((head + "some").getBytes(StandardCharsets.US_ASCII));
      awaitProgress("1", "\"phase\":\"RECEIVING\",\"bytes\":4,\"of\":9");
      socket.getOutputStream().write(" more".getBytes(StandardCharsets.US_ASCII));
      awaitProgress("1", "\"phase\":\"STORED\",\"bytes\":9,\"of\":9,\"sha256\"");
    }
    HttpResponse<String> again = put("m/versions/1", new byte[5]);
    assertEquals(400, again.statusCode());
    assertTrue(again.body().contains("is there already"), again.body());
    assertTrue(progress("1").body().contains("\"phase\":\"STORED\",\"bytes\":9"), "it is there");
    catalog.entries = List.of(new Entry("m", "1", State.LOADING, "it is being imported"));
    String told = progress("1").body();
    assertTrue(told.endsWith("\"state\":\"LOADING\",\"reason\":\"it is being imported\"}"), told);
    try (Socket socket = new Socket(server.address().getAddress(), server.address().getPort())) {
      String head =
          Requests.head("PUT /v2/repository/models/m/versions/2", "Content-Length: 9\r\n");
      socket.getOutputStream().write((head + "some").getBytes(StandardCharsets.US_ASCII));
      awaitProgress("2", "RECEIVING");
    }
    awaitProgress("2", "the client has gone");
  }

  /** There is nothing of it that would be better to know. */
  @Test
  void progress_ofAVersionThatWasPutThereOtherwise_isWhyItIsRefused() throws Exception {
    Files.createDirectories(root.resolve("m/1"));
    assertEquals(400, put("m/versions/1", new byte[5]).statusCode());
    String told = progress("1").body();
    assertTrue(told.contains("\"phase\":\"FAILED\",\"bytes\":0,\"of\":5"), told);
    assertTrue(told.contains("is there already"), told);
  }

  @Test
  void clientThatGoesAway_leavesNothing() throws Exception {
    try (Socket socket = new Socket(server.address().getAddress(), server.address().getPort())) {
      String head =
          Requests.head("PUT /v2/repository/models/m/versions/1", "Content-Length: 999\r\n");
      socket.getOutputStream().write((head + "some").getBytes(StandardCharsets.US_ASCII));
      while (entries().isEmpty()) {
        Thread.onSpinWait();
      }
    }
    while (!entries().isEmpty()) {
      Thread.onSpinWait();
    }
    assertFalse(Files.exists(root.resolve("m")));
  }

  @Test
  void otherMethods_areToldTheRightOnes() throws Exception {
    HttpResponse<String> reply =
        client.send(
            HttpRequest.newBuilder(URI.create(server.url() + "/v2/repository/models/m/versions/1"))
                .POST(BodyPublishers.noBody())
                .build(),
            BodyHandlers.ofString());
    assertEquals(405, reply.statusCode());
    assertEquals("GET, HEAD, PUT, DELETE", reply.headers().firstValue("Allow").orElse(""));
  }
}
