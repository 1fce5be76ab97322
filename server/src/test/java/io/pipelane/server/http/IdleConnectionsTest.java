package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.PooledByteBufAllocator;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.Transport;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Ten thousand connections that are kept and not used, as far as descriptors allow. What is asked
 * beside them is answered, they are answered too when they ask again, and nothing is left when they
 * have gone. How long liveness took meanwhile is in {@code target/idle-connections.txt}.
 */
@Tag("long")
@Timeout(600)
class IdleConnectionsTest {
  private static final int WANTED = 10_000;

  /** For what else the server's process opens meanwhile. */
  private static final int SPARE_DESCRIPTORS = 500;

  private static final int LOOPS = 2;
  private static final int CLIENTS = 4;
  private static final int REQUESTS = 5_000;
  private static final int LARGEST = 1 << 14;
  private static final PooledByteBufAllocator BUFFERS = PooledByteBufAllocator.DEFAULT;

  private final TransferMemory memory = new TransferMemory(Arena.ofAuto().allocate(1 << 20));
  private final long seed = System.nanoTime();

  private HttpServer start(ExecutorService lanes) {
    HttpSettings settings =
        new HttpSettings(
            "127.0.0.1",
            0,
            Transport.AUTO,
            LOOPS,
            1 << 20,
            2 * WANTED,
            Duration.ofMinutes(10),
            Optional.empty());
    return HttpServer.start(
        settings, Backends.of(FakeCatalog.usual(), new EchoService(lanes)), memory);
  }

  @Test
  void idleConnections_costNobodyAnything() throws Exception {
    int idle = (int) Math.min(WANTED, IdleClients.descriptors() - SPARE_DESCRIPTORS);
    AtomicBoolean over = new AtomicBoolean();
    try (ExecutorService lanes = Executors.newFixedThreadPool(2);
        HttpServer server = start(lanes);
        ExecutorService threads = Executors.newCachedThreadPool()) {
      askAll(server, threads);
      awaitConnections(server, 0);
      long pinned = BUFFERS.pinnedDirectMemory();
      long pooled = BUFFERS.metric().usedDirectMemory();

      Future<List<Long>> liveness = threads.submit(() -> watch(server, over));
      try (IdleClients clients = new IdleClients(server.address().getPort(), idle)) {
        assertTrue(server.connections() >= idle, "they are open");
        askAll(server, threads);
        clients.ask();
      } finally {
        over.set(true);
      }
      report(idle, liveness.get());
      awaitConnections(server, 0);
      while (BUFFERS.pinnedDirectMemory() > pinned) {
        Thread.onSpinWait(); // The loops may be at the end of their last reads.
      }
      long grown = BUFFERS.metric().usedDirectMemory() - pooled;
      assertTrue(grown <= LOOPS * (long) BUFFERS.metric().chunkSize(), grown + " bytes");
    } catch (Exception | Error e) {
      throw new AssertionError("seed " + seed, e);
    }
    assertEquals(0, memory.lentBytes());
  }

  private static void awaitConnections(HttpServer server, int count) {
    while (server.connections() != count) {
      Thread.onSpinWait();
    }
  }

  /** Has several clients send inferences at once, and waits until all are answered. */
  private void askAll(HttpServer server, ExecutorService threads) throws Exception {
    List<Future<?>> clients = new ArrayList<>();
    for (int client = 0; client < CLIENTS; client++) {
      Random random = new Random(seed + client);
      clients.add(threads.submit(() -> infer(server, random)));
    }
    for (Future<?> client : clients) {
      client.get();
    }
  }

  private static Void infer(HttpServer server, Random random) throws IOException {
    try (Socket socket = connect(server)) {
      for (int i = 0; i < REQUESTS; i++) {
        byte[] data = new byte[1 + random.nextInt(LARGEST)];
        random.nextBytes(data);
        socket.getOutputStream().write(request(data));
        assertArrayEquals(data, answer(socket, data.length));
      }
    }
    return null;
  }

  private static byte[] request(byte[] data) {
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[%d],\"datatype\":\"INT8\",\"parameters\":"
                .formatted(data.length)
            + "{\"binary_data_size\":%d}}],\"parameters\":{\"binary_data_output\":true}}"
                .formatted(data.length);
    String headers = "Inference-Header-Content-Length: %d\r\n".formatted(json.length());
    return Requests.infer("echo_INT8", json, data, headers);
  }

  /** The bytes behind an answer's head and JSON. */
  private static byte[] answer(Socket socket, int dataBytes) throws IOException {
    StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      int next = socket.getInputStream().read();
      assertTrue(next >= 0, head::toString);
      head.append((char) next);
    }
    String fields = head.toString().toLowerCase(Locale.ROOT);
    assertTrue(fields.startsWith("http/1.1 200 "), fields);
    String length = "\r\ncontent-length: ";
    int begin = fields.indexOf(length) + length.length();
    int bytes = Integer.parseInt(fields.substring(begin, fields.indexOf("\r\n", begin)));
    byte[] body = socket.getInputStream().readNBytes(bytes);
    return Arrays.copyOfRange(body, bytes - dataBytes, bytes);
  }

  private static Socket connect(HttpServer server) throws IOException {
    return new Socket(server.address().getAddress(), server.address().getPort());
  }

  /** Asks for liveness again and again; how long each took, in nanoseconds. */
  private static List<Long> watch(HttpServer server, AtomicBoolean over) throws IOException {
    List<Long> nanos = new ArrayList<>();
    try (Socket socket = connect(server)) {
      while (!over.get()) {
        long begin = System.nanoTime();
        IdleClients.ask(socket);
        nanos.add(System.nanoTime() - begin);
      }
    }
    return nanos;
  }

  private static void report(int idle, List<Long> nanos) throws IOException {
    long[] sorted = nanos.stream().mapToLong(Long::longValue).sorted().toArray();
    String text =
        String.format(
            Locale.ROOT,
            "liveness beside %d idle connections and %d clients, %d asked: p50 %.2f ms, p99 %.2f"
                + " ms, at most %.2f ms%n",
            idle,
            CLIENTS,
            sorted.length,
            sorted[sorted.length / 2] / 1e6,
            sorted[(int) (0.99 * (sorted.length - 1))] / 1e6,
            sorted[sorted.length - 1] / 1e6);
    Files.writeString(Path.of("target", "idle-connections.txt"), text, StandardCharsets.UTF_8);
    System.out.print(text);
  }
}
