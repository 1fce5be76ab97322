package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.epoll.Epoll;
import io.netty.channel.uring.IoUring;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.Transport;
import io.pipelane.switcher.InferenceService;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The server over real sockets. */
@Timeout(30)
class HttpServerTest {
  private static final int CONNECTION_LIMIT = 8;
  private static final long TRANSFER_BYTES = 16 << 20;

  private static HttpSettings settings(Transport transport) {
    return new HttpSettings(
        "127.0.0.1",
        0,
        transport,
        2,
        8 << 20,
        CONNECTION_LIMIT,
        Duration.ofSeconds(20),
        Optional.empty());
  }

  private static HttpServer start(
      HttpSettings settings, ModelCatalog catalog, InferenceService service) {
    return HttpServer.start(
        settings,
        Backends.of(catalog, service),
        new TransferMemory(Arena.ofAuto().allocate(TRANSFER_BYTES)));
  }

  static Set<Transport> transports() {
    Set<Transport> all = EnumSet.of(Transport.AUTO, Transport.NIO);
    if (Epoll.isAvailable()) {
      all.add(Transport.EPOLL);
    }
    if (IoUring.isAvailable()) {
      all.add(Transport.IO_URING);
    }
    return all;
  }

  private static Socket connect(HttpServer server) throws IOException {
    return new Socket(server.address().getAddress(), server.address().getPort());
  }

  /** Sends, then reads until the server closes. */
  private static List<Reply> talk(HttpServer server, byte[]... requests) throws IOException {
    try (Socket socket = connect(server)) {
      for (byte[] request : requests) {
        socket.getOutputStream().write(request);
      }
      return Reply.all(socket.getInputStream().readAllBytes());
    }
  }

  private static byte[] lastGet(String path) {
    return Requests.bytes(Requests.head("GET " + path, "Connection: close\r\n"), new byte[0]);
  }

  private static byte[] largeRequest(float[] values) {
    byte[] data = Requests.floats(values);
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[%d,4],\"datatype\":\"FP32\",\"parameters\":"
                .formatted(values.length / 4)
            + "{\"binary_data_size\":"
            + data.length
            + "}}],\"parameters\":{\"binary_data_output\":true}}";
    return Requests.inferBinary("echo", json, data);
  }

  /** Long before they would be taken for idle. */
  @ParameterizedTest
  @MethodSource("transports")
  void clientsThatResetWhileTheySend_areHeardOf(Transport transport) throws IOException {
    byte[] half =
        Requests.bytes(
            Requests.head("POST /v2/models/echo/infer", "Content-Length: 2000000\r\n"),
            new byte[1_000_000]);
    try (HttpServer server =
        start(settings(transport), FakeCatalog.usual(), EchoService.inline())) {
      List<Socket> clients = new ArrayList<>();
      for (int i = 0; i < CONNECTION_LIMIT; i++) {
        clients.add(connect(server));
      }
      awaitConnections(server, CONNECTION_LIMIT);
      for (Socket client : clients) {
        client.getOutputStream().write(half);
        client.setSoLinger(true, 0);
        client.close();
      }
      awaitConnections(server, 0);
    }
  }

  private static void awaitConnections(HttpServer server, int count) {
    long begin = System.nanoTime();
    while (server.connections() != count) {
      assertTrue(System.nanoTime() - begin < 10e9, server.connections() + " are open");
      Thread.onSpinWait();
    }
  }

  @ParameterizedTest
  @MethodSource("transports")
  void everyTransport_answersSmallAndLargeRequestsInOrder(Transport transport) throws Exception {
    float[] values = new float[1 << 20];
    for (int i = 0; i < values.length; i++) {
      values[i] = i;
    }
    try (ExecutorService lane = Executors.newFixedThreadPool(4);
        HttpServer server =
            start(settings(transport), FakeCatalog.usual(), new EchoService(lane))) {
      assertTrue(server.transport() != Transport.AUTO);
      List<Future<List<Reply>>> clients = new ArrayList<>();
      try (ExecutorService callers = Executors.newFixedThreadPool(4)) {
        for (int i = 0; i < 4; i++) {
          clients.add(
              callers.submit(
                  () ->
                      talk(
                          server,
                          largeRequest(values),
                          Requests.mixed(),
                          Requests.mixed(),
                          lastGet("/v2/health/ready"))));
        }
      }
      for (Future<List<Reply>> client : clients) {
        List<Reply> replies = client.get();
        assertEquals(4, replies.size());
        assertArrayEquals(Requests.floats(values), replies.get(0).binary());
        assertArrayEquals(Requests.longs(9007199254740993L, -1), replies.get(2).binary());
        assertEquals("{\"ready\":true}", replies.get(3).text());
      }
    }
  }

  @Test
  void largeJsonTensor_isDecodedAndEncodedOffTheEventLoop() throws Exception {
    String row = "1.5,-2.25,3,4e2,";
    int rows = 200_000;
    String data = row.repeat(rows);
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[%d,4],\"datatype\":\"FP32\",\"data\":[%s]}]}"
            .formatted(rows, data.substring(0, data.length() - 1));
    try (ExecutorService lane = Executors.newSingleThreadExecutor();
        HttpServer server =
            start(settings(Transport.AUTO), FakeCatalog.usual(), new EchoService(lane))) {
      List<Reply> replies = talk(server, Requests.infer("echo", json), lastGet("/v2/health/live"));
      assertEquals(200, replies.get(0).status());
      assertTrue(replies.get(0).text().endsWith(",1.5,-2.25,3.0,400.0]}]}"));
      assertEquals("{\"live\":true}", replies.get(1).text());
    }
  }

  @Test
  void bodyBeyondLimit_isAnsweredEvenWhileTheClientSends() throws Exception {
    try (HttpServer server =
        start(settings(Transport.AUTO), FakeCatalog.usual(), EchoService.inline())) {
      Reply reply = talk(server, largeRequest(new float[4 << 20])).getFirst();
      assertEquals(413, reply.status());
      assertEquals("{\"live\":true}", talk(server, lastGet("/v2/health/live")).getFirst().text());
    }
  }

  @Test
  void connections_beyondTheLimit_areTurnedAway() throws Exception {
    List<Socket> open = new ArrayList<>();
    try (HttpServer server =
        start(settings(Transport.AUTO), FakeCatalog.usual(), EchoService.inline())) {
      for (int i = 0; i < CONNECTION_LIMIT; i++) {
        Socket socket = connect(server);
        open.add(socket);
        socket
            .getOutputStream()
            .write(Requests.get("/v2/health/live").getBytes(StandardCharsets.US_ASCII));
        assertTrue(socket.getInputStream().read() > 0);
      }
      try (Socket socket = connect(server)) {
        Reply reply = Reply.all(socket.getInputStream().readAllBytes()).getFirst();
        assertEquals(503, reply.status());
        assertEquals("close", reply.header("connection"));
      }
      for (Socket socket : open) {
        socket.close();
      }
    }
  }

  @Test
  void idleConnection_isClosed() throws Exception {
    HttpSettings impatient =
        new HttpSettings(
            "127.0.0.1", 0, Transport.AUTO, 1, 4096, 8, Duration.ofMillis(50), Optional.empty());
    try (HttpServer server = start(impatient, FakeCatalog.usual(), EchoService.inline());
        Socket socket = connect(server)) {
      socket
          .getOutputStream()
          .write(
              Requests.bytes(
                  Requests.head("POST /v2/repository/index", "Content-Length: 9\r\n"),
                  "{".getBytes(StandardCharsets.US_ASCII)));
      Reply reply = Reply.all(socket.getInputStream().readAllBytes()).getFirst();
      assertEquals(408, reply.status());
    }
  }

  @Test
  void clientThatGoesAway_cancelsItsRequest() throws Exception {
    CountDownLatch submitted = new CountDownLatch(1);
    CountDownLatch cancelled = new CountDownLatch(1);
    try (HttpServer server =
        start(
            settings(Transport.AUTO),
            FakeCatalog.usual(),
            (_, handler) -> {
              submitted.countDown();
              return () -> {
                handler.failed(new StatusException(Status.CANCELLED, "withdrawn"));
                cancelled.countDown();
              };
            })) {
      try (Socket socket = connect(server)) {
        socket.getOutputStream().write(Requests.mixed());
        assertTrue(submitted.await(10, TimeUnit.SECONDS));
      }
      assertTrue(cancelled.await(10, TimeUnit.SECONDS));
    }
  }

  @Test
  void managementPort_servesManagementAndNoInference() throws Exception {
    AccessControl access = AccessControl.of(Optional.empty(), Optional.empty(), OptionalInt.of(0));
    FakeCatalog catalog = FakeCatalog.usual();
    catalog.loading.complete(null);
    try (HttpServer server =
        HttpServer.start(
            settings(Transport.AUTO),
            Backends.of(catalog, EchoService.inline(), access),
            new TransferMemory(Arena.ofAuto().allocate(TRANSFER_BYTES)))) {
      InetSocketAddress management = server.managementAddress().orElseThrow();
      String load = "POST /v2/repository/models/a/load HTTP/1.0\r\nContent-Length: 0\r\n\r\n";
      assertEquals(404, talkOnce(server.address(), load).status());
      assertEquals(200, talkOnce(management, load).status());
      String infer = "POST /v2/models/echo/infer HTTP/1.0\r\nContent-Length: 0\r\n\r\n";
      assertEquals(404, talkOnce(management, infer).status());
      assertEquals(200, talkOnce(management, "GET /v2/health/ready HTTP/1.0\r\n\r\n").status());
    }
  }

  private static Reply talkOnce(InetSocketAddress address, String request) throws IOException {
    try (Socket socket = new Socket(address.getAddress(), address.getPort())) {
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      return Reply.all(socket.getInputStream().readAllBytes()).getFirst();
    }
  }

  @Test
  void drain_answersWhatRunsAndThenCloses() throws Exception {
    EchoService echo = EchoService.holding();
    CountDownLatch submitted = new CountDownLatch(1);
    HttpServer server =
        start(
            settings(Transport.AUTO),
            FakeCatalog.usual(),
            (request, handler) -> {
              var ticket = echo.submit(request, handler);
              submitted.countDown();
              return ticket;
            });
    try (Socket running = connect(server);
        Socket late = connect(server)) {
      running.getOutputStream().write(Requests.mixed());
      late.getOutputStream()
          .write(Requests.get("/v2/health/live").getBytes(StandardCharsets.US_ASCII));
      assertTrue(late.getInputStream().read() > 0);
      assertTrue(submitted.await(10, TimeUnit.SECONDS));
      CompletableFuture<Boolean> drained =
          CompletableFuture.supplyAsync(() -> server.drain(Duration.ofSeconds(20)));
      int port = server.address().getPort();
      while (canConnect(port)) {
        Thread.onSpinWait();
      }
      late.getOutputStream().write(Requests.mixed());
      byte[] rest = late.getInputStream().readAllBytes();
      assertTrue(
          new String(rest, StandardCharsets.US_ASCII).contains("HTTP/1.1 503 Service Unavailable"));
      assertFalse(drained.isDone());
      echo.pending.getFirst().complete();
      Reply reply = Reply.all(running.getInputStream().readAllBytes()).getFirst();
      assertEquals(200, reply.status());
      assertTrue(drained.get(10, TimeUnit.SECONDS));
    }
  }

  @Test
  void drain_answersARequestWhoseBodyIsComing() throws Exception {
    HttpServer server = start(settings(Transport.AUTO), FakeCatalog.usual(), EchoService.inline());
    byte[] body = Requests.floats(1, 2, 3, 4);
    String head =
        Requests.head(
            "POST /v2/models/echo/infer",
            "Expect: 100-continue\r\nInference-Header-Content-Length: 0\r\nContent-Length: 16\r\n");
    byte[] goOn = "HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    try (Socket arriving = connect(server)) {
      arriving.setTcpNoDelay(true);
      arriving.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      assertArrayEquals(goOn, arriving.getInputStream().readNBytes(goOn.length));
      arriving.getOutputStream().write(body, 0, 8);
      CompletableFuture<Boolean> drained =
          CompletableFuture.supplyAsync(() -> server.drain(Duration.ofSeconds(20)));
      int port = server.address().getPort();
      while (canConnect(port)) {
        Thread.onSpinWait();
      }
      arriving.getOutputStream().write(body, 8, 8);
      byte[] bytes = arriving.getInputStream().readAllBytes();
      String answer = new String(bytes, StandardCharsets.US_ASCII);
      assertTrue(answer.startsWith("HTTP/1.1 503 Service Unavailable"), answer);
      assertTrue(answer.contains("Retry-After: "), answer);
      arriving.shutdownOutput();
      assertTrue(drained.get(10, TimeUnit.SECONDS));
    }
  }

  private static boolean canConnect(int port) {
    try (Socket _ = new Socket(InetAddress.getLoopbackAddress(), port)) {
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  @Test
  void drain_thatTakesTooLong_givesUp() throws Exception {
    EchoService service = EchoService.holding();
    HttpServer server = start(settings(Transport.AUTO), FakeCatalog.usual(), service);
    try (Socket socket = connect(server)) {
      socket.getOutputStream().write(Requests.mixed());
      socket
          .getOutputStream()
          .write(Requests.get("/v2/health/live").getBytes(StandardCharsets.US_ASCII));
      while (service.pending.isEmpty()) {
        Thread.onSpinWait();
      }
      assertFalse(server.drain(Duration.ofMillis(1)));
      assertEquals(0, socket.getInputStream().readAllBytes().length);
    }
    service.pending.getFirst().complete();
    server.close();
  }

  @Test
  void addressInUse_isSaid() {
    try (HttpServer server =
        start(settings(Transport.AUTO), FakeCatalog.usual(), EchoService.inline())) {
      int port = server.address().getPort();
      HttpSettings same =
          new HttpSettings(
              "127.0.0.1",
              port,
              Transport.NIO,
              1,
              4096,
              8,
              Duration.ofSeconds(1),
              Optional.empty());
      StatusException error =
          assertThrows(
              StatusException.class, () -> start(same, FakeCatalog.usual(), EchoService.inline()));
      assertTrue(
          String.valueOf(error.getMessage()).startsWith("cannot listen on 127.0.0.1:" + port));
    }
  }

  @Test
  void settings_outOfRange_areRefused() {
    assertThrows(
        IllegalArgumentException.class,
        () ->
            new HttpSettings(
                "h", 70_000, Transport.AUTO, 1, 4096, 8, Duration.ofSeconds(1), Optional.empty()));
    assertThrows(
        IllegalArgumentException.class,
        () ->
            new HttpSettings("h", 1, Transport.AUTO, 1, 4096, 8, Duration.ZERO, Optional.empty()));
  }
}
