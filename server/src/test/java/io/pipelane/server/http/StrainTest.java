package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.UnixOperatingSystemMXBean;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.Transport;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.management.ManagementFactory;
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
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Everything at once that clients do to a server: many that ask, of all sizes, many that are
 * silent, some that dribble, that send too much, that close their half. All that ask are answered
 * rightly, nothing is left, and how long liveness took meanwhile is in {@code target/liveness.txt}.
 */
@Timeout(300)
class StrainTest {
  private static final boolean LONG = Boolean.getBoolean("pipelane.long");
  private static final int CLIENTS = 200;
  private static final int REQUESTS = LONG ? 200 : 10;
  private static final int SLOW = 50;
  private static final int LIMIT = 1 << 20;
  private static final long TRANSFER_BYTES = 16 << 20;
  private static final byte[] LIVE =
      Requests.get("/v2/health/live").getBytes(StandardCharsets.US_ASCII);

  private final TransferMemory memory = new TransferMemory(Arena.ofAuto().allocate(TRANSFER_BYTES));
  private final List<Socket> held = new ArrayList<>();
  private final long seed = System.nanoTime();

  /** Both ends of each connection are this process's. */
  private static int idleConnections() {
    long files =
        ManagementFactory.getPlatformMXBean(UnixOperatingSystemMXBean.class)
            .getMaxFileDescriptorCount();
    return (int) Math.min(LONG ? 10_000 : 1_000, (files - 2_000) / 2);
  }

  private HttpServer start(ExecutorService lanes) {
    HttpSettings settings =
        new HttpSettings(
            "127.0.0.1",
            0,
            Transport.AUTO,
            2,
            LIMIT,
            20_000,
            Duration.ofMinutes(5),
            Optional.empty());
    return HttpServer.start(
        settings, Backends.of(FakeCatalog.usual(), new EchoService(lanes)), memory);
  }

  @Test
  void crowd_isAnsweredWhileOthersHoldConnections() throws Exception {
    int idle = idleConnections();
    AtomicBoolean over = new AtomicBoolean();
    try (ExecutorService lanes = Executors.newFixedThreadPool(2);
        HttpServer server = start(lanes);
        ExecutorService watching = Executors.newSingleThreadExecutor();
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < idle + SLOW; i++) {
        held.add(connect(server));
      }
      List<Socket> slow = held.subList(0, SLOW);
      CountDownLatch watched = new CountDownLatch(1);
      Future<List<Long>> liveness = watching.submit(() -> watch(server, over, watched));
      watched.await();
      List<Future<?>> clients = new ArrayList<>();
      for (int client = 0; client < CLIENTS; client++) {
        Random random = new Random(seed + client);
        clients.add(threads.submit(() -> ask(server, random)));
      }
      clients.add(threads.submit(() -> dribble(slow)));
      clients.add(threads.submit(() -> sendTooMuch(server)));
      clients.add(threads.submit(() -> closeHalf(server)));
      for (Future<?> client : clients) {
        client.get();
      }
      over.set(true);
      report(idle, liveness.get());
      for (Socket socket : held.subList(SLOW, held.size())) {
        socket.getOutputStream().write(LIVE);
        assertEquals('H', socket.getInputStream().read(), "a silent connection is open still");
        socket.close();
      }
      for (Socket socket : slow) {
        socket.close();
      }
    } catch (Exception | Error e) {
      throw new AssertionError("seed " + seed, e);
    }
    assertEquals(0, memory.lentBytes());
  }

  private static Socket connect(HttpServer server) throws IOException {
    return new Socket(server.address().getAddress(), server.address().getPort());
  }

  /**
   * Asks for liveness again and again; how long each took, in nanoseconds. On a platform thread: a
   * virtual one would wait in line behind those of the crowd.
   */
  private static List<Long> watch(HttpServer server, AtomicBoolean over, CountDownLatch begun)
      throws IOException {
    List<Long> nanos = new ArrayList<>();
    try (Socket socket = connect(server)) {
      while (!over.get()) {
        long begin = System.nanoTime();
        socket.getOutputStream().write(LIVE);
        assertTrue(answer(socket).startsWith("HTTP/1.1 200 "));
        nanos.add(System.nanoTime() - begin);
        begun.countDown();
      }
    }
    return nanos;
  }

  /** An answer whose body is short and text. */
  private static String answer(Socket socket) throws IOException {
    StringBuilder text = new StringBuilder();
    while (!text.toString().endsWith("}")) {
      int next = socket.getInputStream().read();
      assertTrue(next >= 0, text::toString);
      text.append((char) next);
    }
    return text.toString();
  }

  private static Void ask(HttpServer server, Random random) throws IOException {
    for (int i = 0; i < REQUESTS; i++) {
      byte[] data = new byte[1 << random.nextInt(18)];
      random.nextBytes(data);
      try (Socket socket = connect(server)) {
        socket.getOutputStream().write(closing(data));
        byte[] all = socket.getInputStream().readAllBytes();
        assertEquals(200, Reply.all(all).getFirst().status());
        assertArrayEquals(data, Arrays.copyOfRange(all, all.length - data.length, all.length));
      }
    }
    return null;
  }

  private static byte[] closing(byte[] data) {
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[%d],\"datatype\":\"INT8\",\"parameters\":"
                .formatted(data.length)
            + "{\"binary_data_size\":%d}}],\"parameters\":{\"binary_data_output\":true}}"
                .formatted(data.length);
    String headers =
        "Connection: close\r\nInference-Header-Content-Length: %d\r\n".formatted(json.length());
    return Requests.infer("echo_INT8", json, data, headers);
  }

  /** A byte of a head to each, one after another. */
  private static Void dribble(List<Socket> slow) throws IOException {
    byte[] head = closing(new byte[8]);
    for (int at = 0; at < 20; at++) {
      for (Socket socket : slow) {
        socket.getOutputStream().write(head[at]);
      }
    }
    return null;
  }

  private static Void sendTooMuch(HttpServer server) throws IOException {
    for (int i = 0; i < REQUESTS; i++) {
      try (Socket socket = connect(server)) {
        String head =
            Requests.head("POST /v2/models/echo/infer", "Content-Length: " + (LIMIT + 1) + "\r\n");
        socket.getOutputStream().write(Requests.bytes(head, new byte[100]));
        assertTrue(answer(socket).startsWith("HTTP/1.1 413 "));
      }
    }
    return null;
  }

  /** Some end their half behind a request, and get its answer; some in the middle of one. */
  private static Void closeHalf(HttpServer server) throws IOException {
    byte[] request = closing(new byte[1 << 16]);
    for (int i = 0; i < REQUESTS; i++) {
      int sent = i % 2 == 0 ? request.length : request.length / 2;
      try (Socket socket = connect(server)) {
        socket.getOutputStream().write(request, 0, sent);
        socket.shutdownOutput();
        byte[] all = socket.getInputStream().readAllBytes();
        assertTrue(all.length == 0 || Reply.all(all).getFirst().status() == 200);
      }
    }
    return null;
  }

  private void report(int idle, List<Long> nanos) throws IOException {
    long[] sorted = nanos.stream().mapToLong(Long::longValue).sorted().toArray();
    String text =
        String.format(
            Locale.ROOT,
            "liveness beside %d clients, %d silent and %d slow connections, %d asked: p50 %.2f ms,"
                + " p99 %.2f ms, at most %.2f ms%n",
            CLIENTS,
            idle,
            SLOW,
            sorted.length,
            sorted[sorted.length / 2] / 1e6,
            sorted[(int) (0.99 * (sorted.length - 1))] / 1e6,
            sorted[sorted.length - 1] / 1e6);
    Files.writeString(Path.of("target", "liveness.txt"), text);
  }
}
