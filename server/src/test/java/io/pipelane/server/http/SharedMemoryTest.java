package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.server.access.ManagementLog;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.CapturedLog;
import io.pipelane.server.shared.SharedMemory;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tensors in shared memory, over HTTP; a folder stands for the system's. */
class SharedMemoryTest {
  private static final int LARGEST_INPUT = 1 << 20;
  private static final int REGION_BYTES = 64;
  private static final String INFER =
      "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,4],\"datatype\":\"FP32\",\"parameters\":%s}],"
          + "\"outputs\":[{\"name\":\"y_x\",\"parameters\":%s}]}";

  @TempDir Path folder;
  private final EchoService service = EchoService.holding();
  private Conversation conversation;
  private Path file;

  @BeforeEach
  void begin() throws IOException {
    file = Files.write(folder.resolve("tensors"), new byte[8 + REGION_BYTES]);
    service.holds = false;
    conversation =
        new Conversation(
            Backends.sharing(FakeCatalog.usual(), service, SharedMemory.in(folder, LARGEST_INPUT)),
            Runnable::run);
  }

  @AfterEach
  void end() {
    conversation.close();
  }

  private Reply post(String path, String body) {
    int before = conversation.replies().size();
    conversation.send(Requests.post(path, body.getBytes(StandardCharsets.UTF_8), ""));
    List<Reply> replies = conversation.replies();
    assertEquals(before + 1, replies.size());
    return replies.getLast();
  }

  @Test
  void register_withoutAKey_isToldSo() {
    Reply reply = post("/v2/systemsharedmemory/region/r/register", "{\"byte_size\":8}");
    assertEquals(400, reply.status());
    assertTrue(reply.text().contains("key is missing"), reply::text);
  }

  @Test
  void changes_areLogged() {
    try (CapturedLog log = new CapturedLog()) {
      assertEquals(200, register("r", "tensors", 8, REGION_BYTES).status());
      assertEquals(400, register("r", "tensors", 8, REGION_BYTES).status());
      assertEquals(200, unregister("/region/r").status());
      assertEquals(200, unregister("").status());
      assertEquals(
          List.of(
              "region \"r\" of shared memory, tensors, is registered, by somebody without a key",
              "region \"r\" of shared memory is unregistered, by somebody without a key",
              "all regions of shared memory are unregistered, by somebody without a key"),
          log.texts(ManagementLog.class));
    }
  }

  private Reply register(String name, String key, long offset, long bytes) {
    return post(
        "/v2/systemsharedmemory/region/" + name + "/register",
        "{\"key\":\"%s\",\"offset\":%d,\"byte_size\":%d}".formatted(key, offset, bytes));
  }

  private Reply unregister(String path) {
    return post("/v2/systemsharedmemory" + path + "/unregister", "");
  }

  private String status() {
    conversation.send(Requests.get("/v2/systemsharedmemory/status"));
    return conversation.replies().getLast().text();
  }

  @Test
  void regionThatAForwardedRequestNames_isNotThisHostsOfThatName() {
    assertEquals(200, register("r", "/tensors", 8, REGION_BYTES).status());
    byte[] body = infer(region("r", 4, 16), region("r", 32, 20)).getBytes(StandardCharsets.UTF_8);
    conversation.send(
        Requests.post("/v2/models/echo/infer", body, "Pipelane-Forwarded: other:8000\r\n"));
    Reply reply = conversation.replies().getLast();
    assertEquals(501, reply.status());
    assertTrue(reply.text().contains("another host answers this"), reply.text());
  }

  private static String infer(String input, String output) {
    return INFER.formatted(input, output);
  }

  private static String region(String name, int offset, int bytes) {
    return ("{\"shared_memory_region\":\"%s\",\"shared_memory_offset\":%d,"
            + "\"shared_memory_byte_size\":%d}")
        .formatted(name, offset, bytes);
  }

  private void put(int at, byte[] bytes) throws IOException {
    try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
      open.seek(at);
      open.write(bytes);
    }
  }

  private byte[] get(int at, int bytes) throws IOException {
    return Arrays.copyOfRange(Files.readAllBytes(file), at, at + bytes);
  }

  private void shrinkTo(long bytes) throws IOException {
    try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
      open.setLength(bytes);
    }
  }

  @Test
  void inputsAreReadAndOutputsWrittenWhereTheyLie() throws IOException {
    assertEquals(200, register("r", "/tensors", 8, REGION_BYTES).status());
    assertEquals("[{\"name\":\"r\",\"key\":\"/tensors\",\"offset\":8,\"byte_size\":64}]", status());
    byte[] values = Requests.floats(1, -2, 3.5f, 4);
    put(8 + 4, values);
    Reply reply = post("/v2/models/echo/infer", infer(region("r", 4, 16), region("r", 32, 20)));
    assertEquals(200, reply.status(), reply.text());
    assertTrue(
        reply
            .text()
            .endsWith(
                "\"shape\":[1,4],\"parameters\":{\"shared_memory_region\":\"r\","
                    + "\"shared_memory_offset\":32,\"shared_memory_byte_size\":16}}]}"),
        reply.text());
    assertArrayEquals(values, get(8 + 32, 16));
    assertEquals(200, unregister("/region/r").status());
    assertEquals("[]", status());
    assertEquals(
        404,
        post("/v2/models/echo/infer", infer(region("r", 4, 16), region("r", 32, 16))).status());
  }

  @Test
  void regionThatShrinks_failsItsRequestsAlone() throws IOException {
    register("r", "tensors", 0, REGION_BYTES);
    shrinkTo(10);
    Reply input = post("/v2/models/echo/infer", infer(region("r", 0, 16), "{}"));
    assertEquals(400, input.status());
    assertTrue(input.text().contains("has become smaller"), input.text());
    String sent = INFER.replace("\"parameters\":%s}],", "\"data\":[1,2,3,4]}],");
    Reply output = post("/v2/models/echo/infer", sent.formatted(region("r", 0, 16)));
    assertEquals(400, output.status());
    assertEquals(10, Files.size(file), "nothing was written behind its end");
    assertEquals(200, unregister("").status());
  }

  @Test
  void unregistering_waitsForRequestsThatUseTheRegion() throws IOException {
    register("r", "tensors", 0, REGION_BYTES);
    put(0, Requests.floats(1, 2, 3, 4));
    service.holds = true;
    conversation.send(Requests.infer("echo", infer(region("r", 0, 16), region("r", 16, 16))));
    int before = conversation.replies().size();
    conversation.send(Requests.post("/v2/systemsharedmemory/region/r/unregister", new byte[0], ""));
    try (Conversation other = Conversation.beside(conversation)) {
      other.send(Requests.post("/v2/systemsharedmemory/unregister", new byte[0], ""));
      assertEquals(200, other.onlyReply().status(), "nothing is registered any more");
      assertEquals(before, conversation.replies().size());
      service.pending.getFirst().complete();
    }
    List<Reply> replies = conversation.replies();
    assertEquals(before + 2, replies.size());
    assertEquals(
        List.of(200, 200),
        replies.subList(before, before + 2).stream().map(Reply::status).toList());
    assertArrayEquals(Requests.floats(1, 2, 3, 4), get(16, 16));
  }

  @Test
  void whatIsNoRegion_isRefused() throws IOException {
    for (String key : List.of("../secret", "a/b", "", "/", ".hidden", "//x", "x\\u0000")) {
      assertEquals(400, register("r", key, 0, 8).status(), key);
    }
    Files.createSymbolicLink(folder.resolve("link"), file);
    assertEquals(400, register("r", "link", 0, 8).status());
    assertEquals(400, register("r", "absent", 0, 8).status());
    assertEquals(400, register("r", "tensors", 0, 9 + REGION_BYTES).status());
    assertEquals(400, register("r", "tensors", -1, 8).status());
    assertEquals(400, register("r", "tensors", Long.MAX_VALUE, 8).status());
    assertEquals(200, register("r", "tensors", 0, REGION_BYTES).status());
    Reply second = register("r", "tensors", 0, 8);
    assertEquals(400, second.status());
    assertTrue(second.text().contains("registered already"), second.text());
  }

  @Test
  void partsThatDoNotFit_areRefused() {
    register("r", "tensors", 8, REGION_BYTES);
    String sent = "{}";
    for (String part :
        List.of(region("r", 0, 12), region("r", 56, 16), region("r", Integer.MAX_VALUE, 16))) {
      assertEquals(400, post("/v2/models/echo/infer", infer(part, sent)).status(), part);
    }
    Reply small = post("/v2/models/echo/infer", infer(region("r", 0, 16), region("r", 16, 15)));
    assertEquals(400, small.status());
    assertTrue(small.text().contains("output \\\"y_x\\\" has 16 bytes"), small.text());
    String both =
        infer(region("r", 0, 16), sent).replace("\"FP32\",", "\"FP32\",\"data\":[1,2,3,4],");
    assertTrue(post("/v2/models/echo/infer", both).text().contains("has both data and"));
    String lonely = infer("{\"shared_memory_region\":\"r\"}", sent);
    assertEquals(400, post("/v2/models/echo/infer", lonely).status());
  }
}
