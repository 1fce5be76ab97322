package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandler;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.net.Transport;
import io.pipelane.switcher.InferenceService;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Large bodies over real sockets: what lies where, and that all of it comes back. */
@Timeout(30)
class LargeTransferTest {
  private static final int LENGTH = 3_000_000;

  private final MemorySegment pages = Arena.ofAuto().allocate(16 << 20, 4096);
  private final TransferMemory memory = new TransferMemory(pages);

  static Set<Transport> transports() {
    return HttpServerTest.transports();
  }

  private HttpServer start(Transport transport, InferenceService service) {
    return HttpServer.start(settings(transport), Backends.of(FakeCatalog.usual(), service), memory);
  }

  private static HttpSettings settings(Transport transport) {
    return new HttpSettings(
        "127.0.0.1", 0, transport, 2, 8 << 20, 64, Duration.ofSeconds(20), Optional.empty());
  }

  private static byte[] content(long seed) {
    byte[] bytes = new byte[LENGTH];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  private static byte[] request(byte[] content, String id) {
    String json =
        ("{\"id\":\"%s\",\"inputs\":[{\"name\":\"x\",\"shape\":[%d],\"datatype\":\"INT8\","
                + "\"parameters\":{\"binary_data_size\":%d}}],"
                + "\"parameters\":{\"binary_data_output\":true}}")
            .formatted(id, content.length, content.length);
    return Requests.inferBinary("echo_INT8", json, content);
  }

  private static Socket connect(HttpServer server) throws IOException {
    return connect(server.address());
  }

  private static Socket connect(InetSocketAddress address) throws IOException {
    return new Socket(address.getAddress(), address.getPort());
  }

  /** Sends requests one behind the other, then reads until the server closes. */
  private static List<Reply> talk(HttpServer server, byte[]... requests) throws IOException {
    return talk(server.address(), requests);
  }

  private static List<Reply> talk(InetSocketAddress address, byte[]... requests)
      throws IOException {
    try (Socket socket = connect(address);
        ExecutorService sender = Executors.newSingleThreadExecutor()) {
      sender.execute(
          () -> {
            try {
              for (byte[] request : requests) {
                socket.getOutputStream().write(request);
              }
              socket
                  .getOutputStream()
                  .write(
                      Requests.bytes(
                          Requests.head("GET /v2/health/live", "Connection: close\r\n"),
                          new byte[0]));
            } catch (IOException e) {
              throw new AssertionError(e);
            }
          });
      return Reply.all(socket.getInputStream().readAllBytes());
    }
  }

  private boolean isTransferMemory(MemorySegment data) {
    return data.address() >= pages.address()
        && data.address() + data.byteSize() <= pages.address() + pages.byteSize();
  }

  @ParameterizedTest
  @MethodSource("transports")
  void infer_largeTensors_lieInTransferMemoryAligned(Transport transport) throws Exception {
    EchoService echo = EchoService.inline();
    List<InputTensor> seen = new ArrayList<>();
    byte[] first = content(1);
    byte[] second = content(2);
    List<Reply> replies;
    try (HttpServer server =
        start(
            transport,
            (request, handler) -> {
              seen.add(request.inputs().getFirst());
              return echo.submit(request, handler);
            })) {
      replies = talk(server, request(first, "a"), request(second, "some longer name"));
    }
    assertArrayEquals(first, replies.get(0).binary());
    assertArrayEquals(second, replies.get(1).binary());
    for (InputTensor input : seen) {
      assertTrue(isTransferMemory(input.data()));
      assertEquals(0, input.data().address() % 64);
    }
    assertEquals(0, memory.lentBytes());
  }

  /** What comes first of a connection cannot be: its length is not known yet. */
  @ParameterizedTest
  @MethodSource("transports")
  void infer_largeBody_isReadFromTheSocketToWhereItStays(Transport transport) throws Exception {
    ServerActivity activity = new ServerActivity();
    Backend backend = Backends.of(FakeCatalog.usual(), EchoService.inline());
    ConnectionSetup setup =
        new ConnectionSetup(
            settings(transport),
            ServedPort.PUBLIC,
            new Api(backend, Optional.empty(), activity, Runnable::run),
            activity,
            new TransferBuffers(memory));
    AtomicLong inPlace = new AtomicLong();
    Transport resolved = transport.resolve();
    try (EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, resolved.ioHandlers())) {
      Channel listening =
          new ServerBootstrap()
              .group(loop)
              .channel(resolved.serverChannel())
              .childHandler(
                  new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                      setup.begin(channel);
                      channel.pipeline().addFirst(countingReads(inPlace));
                    }
                  })
              .bind("127.0.0.1", 0)
              .sync()
              .channel();
      talk((InetSocketAddress) listening.localAddress(), request(content(5), "a"));
    }
    assertTrue(inPlace.get() > LENGTH / 2, () -> inPlace + " of " + LENGTH + " bytes");
  }

  private ChannelInboundHandler countingReads(AtomicLong inPlace) {
    return new ChannelInboundHandlerAdapter() {
      @Override
      public void channelRead(ChannelHandlerContext context, Object message) {
        ByteBuf read = (ByteBuf) message;
        long address = read.memoryAddress() + read.readerIndex();
        if (isTransferMemory(MemorySegment.ofAddress(address).reinterpret(read.readableBytes()))) {
          inPlace.addAndGet(read.readableBytes());
        }
        context.fireChannelRead(message);
      }
    };
  }

  @ParameterizedTest
  @MethodSource("transports")
  void infer_moreAtOnceThanTheMemoryHolds_isAnsweredAllTheSame(Transport transport)
      throws Exception {
    try (ExecutorService lane = Executors.newFixedThreadPool(2);
        ExecutorService clients = Executors.newFixedThreadPool(6);
        HttpServer server = start(transport, new EchoService(lane))) {
      List<Future<List<Reply>>> answers = new ArrayList<>();
      for (int client = 0; client < 6; client++) {
        byte[] request = request(content(client), "c" + client);
        answers.add(clients.submit(() -> talk(server, request, request, request)));
      }
      for (int client = 0; client < 6; client++) {
        List<Reply> replies = answers.get(client).get();
        for (Reply reply : replies.subList(0, 3)) {
          assertArrayEquals(content(client), reply.binary());
        }
      }
    }
    assertEquals(0, memory.lentBytes());
  }

  @ParameterizedTest
  @MethodSource("transports")
  void clientGoesAway_anywhere_itsMemoryComesBack(Transport transport) throws Exception {
    byte[] request = request(content(3), "gone");
    EchoService service = EchoService.holding();
    CountDownLatch submitted = new CountDownLatch(1);
    HttpServer server =
        start(
            transport,
            (asked, handler) -> {
              InferenceService.Ticket ticket = service.submit(asked, handler);
              submitted.countDown();
              return ticket;
            });
    try (Socket untilBody = connect(server);
        Socket untilAnswer = connect(server)) {
      send(untilBody, request, LENGTH / 2);
      send(untilAnswer, request, request.length);
      assertTrue(submitted.await(10, TimeUnit.SECONDS));
      while (memory.lentBytes() < 2 * LENGTH) {
        Thread.onSpinWait(); // Half a body holds its memory.
      }
    }
    while (memory.lentBytes() >= 2 * LENGTH) {
      Thread.onSpinWait();
    }
    assertTrue(memory.lentBytes() >= LENGTH, "the service may still read the inputs");
    while (!service.pending.getFirst().isCancelled()) {
      Thread.onSpinWait();
    }
    service.pending.getFirst().complete();
    try (Socket unread = connect(server)) {
      send(unread, request, request.length);
      while (service.pending.size() < 2) {
        Thread.onSpinWait();
      }
      service.pending.get(1).complete(); // Nobody reads the answer.
    }
    server.close();
    assertEquals(0, memory.lentBytes());
  }

  private static void send(Socket socket, byte[] bytes, int length) throws IOException {
    OutputStream out = socket.getOutputStream();
    out.write(bytes, 0, length);
    out.flush();
  }

  @ParameterizedTest
  @MethodSource("transports")
  void infer_malformed_isRefusedAndLeavesNothing(Transport transport) throws Exception {
    byte[] content = content(4);
    byte[] noJson = Requests.inferBinary("echo_INT8", "{\"inputs\":[{]}", content);
    byte[] noModel = Requests.inferBinary("none", "{\"inputs\":[]}", content);
    byte[] noLength =
        Requests.infer("echo_INT8", "{}", content, "Inference-Header-Content-Length: x\r\n");
    List<Reply> replies;
    try (HttpServer server = start(transport, EchoService.inline())) {
      replies = talk(server, noJson, noModel, noLength, request(content, "right"));
    }
    assertEquals(List.of(400, 404, 400, 200, 200), replies.stream().map(Reply::status).toList());
    assertArrayEquals(content, replies.get(3).binary());
    assertEquals(0, memory.lentBytes());
  }
}
