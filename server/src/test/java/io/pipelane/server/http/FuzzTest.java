package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.IncomingVersion;
import io.pipelane.modelstore.repository.RepositoryWriter;
import io.pipelane.server.jobs.JobParts;
import io.pipelane.server.jobs.Jobs;
import io.pipelane.server.jobs.JobsSettings;
import io.pipelane.server.net.Backends;
import io.pipelane.server.statistics.InferenceStatistics;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.zip.GZIPOutputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Damaged requests through the whole pipeline: whatever comes, nothing leaks, no exception leaves
 * the pipeline, and every request that was read is answered once.
 */
class FuzzTest {
  private static final boolean LONG = Boolean.getBoolean("pipelane.long");
  private static final Duration TIME = LONG ? Duration.ofMinutes(45) : Duration.ofSeconds(16);
  private static final Duration ARCHIVES_TIME = Duration.ofSeconds(2);
  private static final long MOST_CASES = LONG ? 700_000 : Long.MAX_VALUE;

  private static final byte[] JOB =
      post(
          "/v2/jobs",
          "{\"model\":\"echo\",\"input_file\":\"in.jsonl\",\"output_file\":\"out.jsonl\","
              + "\"class\":\"offline\",\"size_hint\":7,\"repeat\":2}");

  private static final byte[] ARCHIVE =
      zip(
          List.of(
              Map.entry("model.onnx", "onnx".repeat(50)),
              Map.entry("weights/data.bin", "\u0001\u0002")));

  private static final byte[] OPTIONS =
      put(
          "/v2/repository/models/echo/options",
          bytes(
              """
              priority: online
              limits:
                timeout: 250ms
                queued-size: 16MiB
              batching:
                mode: auto
                preferred-sizes: [4, 8]
                max-queue-delay: 2ms
                preserve-order: false
              """),
          "");

  private static final List<byte[]> SEEDS =
      List.of(
          Requests.mixed(),
          Requests.infer(
              "cube",
              "{\"inputs\":[{\"data\":[[[1,2]],[[3,4]]],\"name\":\"x\",\"shape\":[2,1,2],"
                  + "\"datatype\":\"INT32\"}],\"parameters\":{\"binary_data_output\":true}}"),
          Requests.infer(
              "echo_FP64",
              "{\"id\":\"1\",\"inputs\":[{\"name\":\"x\",\"shape\":[3],\"datatype\":\"FP64\","
                  + "\"data\":[1.5e-7,-0.0,123456789012345678901234567890]}]}"),
          Requests.inferBinary(
              "echo_BYTES",
              "{\"inputs\":[{\"name\":\"x\",\"shape\":[2],\"datatype\":\"BYTES\",\"parameters\":"
                  + "{\"binary_data_size\":11}}]}",
              Requests.strings("ab", "c")),
          Requests.inferBinary(
              "echo_INT8",
              "{\"inputs\":[{\"name\":\"x\",\"shape\":[70000],\"datatype\":\"INT8\",\"parameters\":"
                  + "{\"binary_data_size\":70000}}],\"parameters\":{\"binary_data_output\":true}}",
              new byte[70_000]),
          Requests.post(
              "/v2/repository/index", "{\"ready\":true}".getBytes(StandardCharsets.UTF_8), ""),
          post(
              "/v2/repository/models/echo/load",
              "{\"parameters\":{\"deadline\":250000,\"config\":"
                  + "\"{\\\"max_batch_size\\\":8}\",\"file:1/model.onnx\":\"AAEC\"}}"),
          post(
              "/v2/repository/models/echo/unload", "{\"parameters\":{\"unload_dependents\":true}}"),
          JOB,
          post(
              "/v2/trace/setting",
              "{\"trace_level\":[\"TIMESTAMPS\"],\"trace_rate\":\"7\",\"trace_count\":null}"),
          post("/v2/models/echo/trace/setting", "{\"trace_rate\":\"7\"}"),
          post(
              "/v2/logging",
              "{\"log_verbose_level\":1,\"log_info\":true,\"log_format\":\"ISO8601\"}"),
          post(
              "/v2/systemsharedmemory/region/r/register",
              "{\"key\":\"tensors\",\"offset\":8,\"byte_size\":64}"),
          put("/v2/repository/models/new/versions/3", bytes("PK\u0003\u0004"), ""),
          put(
              "/v2/repository/models/zipped/versions/1",
              ARCHIVE,
              "Content-Type: application/zip\r\n"),
          OPTIONS,
          post(
              "/v2/repository/models/echo/versions",
              "{\"default\":\"1\",\"labels\":{\"new\":\"2\"}}"),
          Requests.infer(
              "echo",
              "",
              gzip(
                  "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,4],\"datatype\":\"FP32\",\"data\":[1,2,3,4]}]}"),
              "Content-Encoding: gzip\r\n"),
          Requests.get("/v2/models/%65cho/versions/1/ready").getBytes(StandardCharsets.UTF_8),
          Requests.bytes(
              Requests.head("POST /v2/models/echo/infer", "Transfer-Encoding: chunked\r\n")
                  + "5\r\n{\"inp"
                  + "\r\n7\r\nuts\":[]\r\n1\r\n}\r\n0\r\n\r\n",
              new byte[0]));

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  private static byte[] post(String path, String body) {
    return Requests.post(path, bytes(body), "");
  }

  private static byte[] put(String path, byte[] body, String fields) {
    String request = new String(Requests.post(path, body, fields), StandardCharsets.ISO_8859_1);
    return bytes(request.replaceFirst("POST", "PUT"));
  }

  /**
   * The same bytes in each process, or a seed that is printed would not show the same case again.
   */
  private static byte[] zip(List<Map.Entry<String, String>> files) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ZipOutputStream archive = new ZipOutputStream(bytes)) {
      for (Map.Entry<String, String> file : files) {
        ZipEntry entry = new ZipEntry(file.getKey());
        entry.setTimeLocal(LocalDateTime.of(2000, 1, 1, 0, 0));
        archive.putNextEntry(entry);
        archive.write(bytes(file.getValue()));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private static byte[] gzip(String text) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream stream = new GZIPOutputStream(bytes)) {
      stream.write(text.getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private static final List<String> TOKENS =
      List.of(
          "{",
          "}",
          "[",
          "]",
          ",",
          ":",
          "\"",
          "null",
          "true",
          "-1",
          "0",
          "9223372036854775808",
          "1e999",
          "\"data\":",
          "\"shape\":",
          "\"binary_data_size\":",
          "\\u0000",
          "\\ud800",
          "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
          "4294967296",
          "\r\n",
          "\r\n\r\n",
          "%2F",
          "..",
          "Content-Length: 3\r\n",
          "Transfer-Encoding: chunked\r\n",
          "Expect: 100-continue\r\n",
          "Inference-Header-Content-Length: 7\r\n",
          "HTTP/1.0",
          "\u00ff\u00fe");

  @TempDir Path folder;

  /** Bodies of a valid request are damaged, so that the head lets the damage through. */
  private static byte[] damage(byte[] request, Random random) {
    List<Byte> bytes = new ArrayList<>();
    for (byte b : request) {
      bytes.add(b);
    }
    int changes = 1 + random.nextInt(4);
    for (int i = 0; i < changes && !bytes.isEmpty(); i++) {
      int at = random.nextInt(bytes.size());
      switch (random.nextInt(5)) {
        case 0 -> bytes.set(at, (byte) random.nextInt(256));
        case 1 -> bytes.set(at, (byte) (bytes.get(at) ^ (1 << random.nextInt(8))));
        case 2 -> bytes.subList(at, Math.min(bytes.size(), at + 1 + random.nextInt(8))).clear();
        case 3 ->
            bytes.addAll(
                at,
                new ArrayList<>(
                    bytes.subList(at, Math.min(bytes.size(), at + 1 + random.nextInt(20)))));
        default -> {
          String token = TOKENS.get(random.nextInt(TOKENS.size()));
          for (byte b : token.getBytes(StandardCharsets.ISO_8859_1)) {
            bytes.add(at++, b);
          }
        }
      }
    }
    byte[] result = new byte[bytes.size()];
    for (int i = 0; i < result.length; i++) {
      result[i] = bytes.get(i);
    }
    return result;
  }

  /** Damages a request's body alone and mends the length that its head gives. */
  private static byte[] damageBody(byte[] request, Random random) {
    String text = new String(request, StandardCharsets.ISO_8859_1);
    int end = text.indexOf("\r\n\r\n") + 4;
    byte[] body = damage(Arrays.copyOfRange(request, end, request.length), random);
    String head =
        text.substring(0, end)
            .replaceAll("\r\nContent-Length: \\d+", "\r\nContent-Length: " + body.length);
    return Requests.concatenate(head.getBytes(StandardCharsets.ISO_8859_1), body);
  }

  /** Jobs that take none on, so that none pile up: a request is refused once all else is right. */
  private Jobs jobs() throws IOException {
    Files.writeString(folder.resolve("in.jsonl"), "{}\n");
    JobsSettings settings =
        new JobsSettings(
            folder,
            1,
            1,
            1,
            0,
            1 << 10,
            OptionalDouble.empty(),
            Duration.ofSeconds(1),
            0,
            Optional.empty());
    JobParts parts =
        new JobParts(
            settings,
            FakeCatalog.usual(),
            EchoService.inline(),
            new InferenceStatistics(),
            new Random(1),
            Clock.systemUTC());
    return Jobs.open(parts, Optional.empty());
  }

  @Test
  void undamagedJob_isRefusedForTheNumberOfJobsAlone() throws IOException {
    try (Jobs jobs = jobs();
        Conversation conversation = conversation(jobs, FakeCatalog.usual(), EchoService.inline())) {
      Reply reply = conversation.send(JOB, 0, JOB.length).onlyReply();
      assertTrue(reply.text().contains("jobs.max-jobs"), reply.text());
    }
  }

  @Test
  void damagedRequests_areAnsweredOnceAndLeaveNothing() throws IOException {
    try (Jobs jobs = jobs()) {
      sendDamaged(jobs);
    }
  }

  @Test
  void undamagedOptions_areTaken() throws IOException {
    FakeCatalog catalog = FakeCatalog.usual();
    catalog.writer = writer();
    catalog.disk = Runnable::run;
    try (Jobs jobs = jobs();
        Conversation conversation = conversation(jobs, catalog, EchoService.inline())) {
      Reply reply = conversation.send(OPTIONS).onlyReply();
      assertEquals(200, reply.status(), reply::text);
    }
  }

  /** Unpacked as an upload's own thread does it. */
  @Test
  void damagedArchives_areStoredOrRefused() throws IOException {
    long seed = Long.getLong("pipelane.seed", System.nanoTime());
    Random random = new Random(seed);
    RepositoryWriter writer = writer();
    long begin = System.nanoTime();
    long round = 0;
    for (; System.nanoTime() - begin < ARCHIVES_TIME.toNanos(); round++) {
      byte[] archive = round == 0 ? ARCHIVE : damage(ARCHIVE, random);
      ModelVersion version = new ModelVersion("zipped", round + 1);
      try (IncomingVersion incoming = writer.receive(version, IncomingVersion.Form.ZIP)) {
        incoming.write(ByteBuffer.wrap(archive));
        assertEquals(version, incoming.finish(Optional.empty()).version());
      } catch (StatusException e) {
        boolean isClients = e.status() == Status.INVALID_ARGUMENT || e.status() == Status.TOO_LARGE;
        assertTrue(round > 0 && isClients, "seed " + seed + ", round " + round + ": " + e);
      } catch (RuntimeException | IOException e) {
        throw new AssertionError("seed " + seed + ", round " + round, e);
      }
    }
    System.out.printf("%d cases of damaged archives, seed %d%n", round, seed);
  }

  private RepositoryWriter writer() throws IOException {
    Path repository = Files.createDirectories(folder.resolve("repository"));
    return new RepositoryWriter(repository, new ByteSize(1 << 20), new Random(1));
  }

  private void sendDamaged(Jobs jobs) {
    long seed = Long.getLong("pipelane.seed", System.nanoTime());
    long end = System.nanoTime() + TIME.toNanos();
    Random random = new Random(seed);
    long round = 0;
    for (; round < MOST_CASES && System.nanoTime() - end < 0; round++) {
      int chosen = random.nextInt(SEEDS.size());
      byte[] valid = SEEDS.get(chosen);
      boolean bodyOnly = random.nextInt(4) > 0 && indexOfLength(valid);
      byte[] request = bodyOnly ? damageBody(valid, random) : damage(valid, random);
      try {
        boolean stores = chosen == SEEDS.indexOf(OPTIONS); // Uploads have threads of their own.
        exchange(request, bodyOnly, jobs, stores, random);
      } catch (RuntimeException | IOException | AssertionError e) {
        throw new AssertionError(
            "seed "
                + seed
                + ", round "
                + round
                + ": "
                + new String(request, StandardCharsets.ISO_8859_1),
            e);
      }
    }
    System.out.printf("%d cases of damaged requests, seed %d%n", round, seed);
  }

  private static boolean indexOfLength(byte[] request) {
    return new String(request, StandardCharsets.ISO_8859_1).contains("\r\nContent-Length: ");
  }

  private void exchange(byte[] request, boolean whole, Jobs jobs, boolean stores, Random random)
      throws IOException {
    EchoService service = random.nextInt(4) == 0 ? EchoService.holding() : EchoService.inline();
    FakeCatalog catalog = FakeCatalog.usual();
    catalog.loading.complete(null);
    catalog.writer = stores ? writer() : null;
    catalog.disk = Runnable::run;
    try (Conversation conversation = conversation(jobs, catalog, service)) {
      int cut = random.nextInt(request.length + 1);
      conversation.send(request, 0, cut).send(request, cut, request.length - cut);
      boolean gone = random.nextInt(8) == 0;
      if (gone) {
        conversation.received();
        conversation.disconnect();
      }
      service.pending.forEach(EchoService.Pending::complete);
      List<Reply> replies = headless(conversation);
      assertTrue(
          replies.stream().noneMatch(reply -> reply.status() == 500), () -> replies.toString());
      if (whole && !gone) {
        assertEquals(1, replies.size());
      }
    }
  }

  private static Conversation conversation(Jobs jobs, FakeCatalog catalog, EchoService service) {
    return new Conversation(Backends.of(catalog, service, Optional.of(jobs)), Runnable::run);
  }

  /** The replies, unless a damaged method made one of them an answer to HEAD. */
  private static List<Reply> headless(Conversation conversation) {
    return conversation.replies().stream().filter(reply -> reply.status() != 100).toList();
  }
}
