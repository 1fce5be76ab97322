package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.TestDevices;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.catalog.ModelCatalog.State;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.sharing.gate.OnlineWork;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Starting and stopping. */
@Timeout(60)
class PipelaneServerTest {
  @TempDir private Path folder;
  private Path repository;

  @BeforeEach
  void makeRepository() throws IOException {
    repository = Files.createDirectories(folder.resolve("repository"));
  }

  private PipelaneServer start(String host, int port) {
    return PipelaneServer.start(PipelaneConfig.of(settings(host, port)));
  }

  private Map<String, String> settings(String host, int port) {
    return TestDevices.settings(
        Map.of(
            "repository.path", repository.toString(),
            "repository.cache", folder.resolve("cache").toString(),
            "device.memory", "8MiB",
            "server.host", host,
            "server.http-port", Integer.toString(port)));
  }

  private static boolean canListenOn(String host) {
    try (ServerSocket _ = new ServerSocket(0, 1, InetAddress.getByName(host))) {
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  private StatusException refusal(String host, int port) {
    return assertThrows(StatusException.class, () -> start(host, port));
  }

  @Test
  void start_thatFailedBefore_works() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      for (int i = 0; i < 2; i++) {
        StatusException refusal = refusal("127.0.0.1", taken.getLocalPort());
        assertEquals(Status.UNAVAILABLE, refusal.status());
      }
    }
    String unknown = "h".repeat(64) + ".invalid"; // DNS cannot even be asked for so long a label.
    String message = String.valueOf(refusal(unknown, 0).getMessage());
    assertTrue(message.contains(unknown + ": no address is known"), message);
    Files.delete(repository);
    assertEquals(Status.NOT_FOUND, refusal("127.0.0.1", 0).status());
    Files.createDirectory(repository);
    try (PipelaneServer server = start("127.0.0.1", 0)) {
      assertTrue(server.catalog().isReady());
    }
  }

  @Test
  void start_onATakenPortForGrpc_saysWhy() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Map<String, String> settings = new HashMap<>(settings("127.0.0.1", 0));
      settings.put("server.grpc-port", Integer.toString(taken.getLocalPort()));
      StatusException refused =
          assertThrows(
              StatusException.class, () -> PipelaneServer.start(PipelaneConfig.of(settings)));
      String message = String.valueOf(refused.getMessage());
      assertTrue(message.contains(taken.getLocalPort() + " for gRPC: "), message);
      assertTrue(message.endsWith("Address already in use"), message);
    }
  }

  @Test
  void url_ofAnIpv6Address_hasBrackets() {
    assumeTrue(canListenOn("::1"), "there is IPv6");
    try (PipelaneServer server = start("::1", 0)) {
      assertEquals("http://[::1]:" + server.address().getPort(), server.url());
    }
  }

  @Test
  void close_whileModelsAreImported_endsTheImports() throws Exception {
    for (int seed = 0; seed < 3; seed++) {
      TestModels.write(
          TestModels.chain(2, 32, seed), repository.resolve("model" + seed + "/1/model.onnx"));
    }
    PipelaneServer server = start("127.0.0.1", 0);
    server.close();
    server.imports().join();
    assertTrue(server.catalog().index().stream().noneMatch(e -> e.state() == State.READY));
    server.close();
  }

  @Test
  void drain_whileALoadRuns_answersItAtOnce() throws Exception {
    try (PipelaneServer server = start("127.0.0.1", 0);
        HttpClient client = HttpClient.newHttpClient()) {
      TestModels.write(TestModels.chain(2, 32, 9), repository.resolve("late/1/model.onnx"));
      CompletableFuture<HttpResponse<String>> answer =
          client.sendAsync(
              HttpRequest.newBuilder(URI.create(server.url() + "/v2/repository/models/late/load"))
                  .POST(BodyPublishers.noBody())
                  .build(),
              BodyHandlers.ofString());
      while (server.catalog().index().isEmpty()) {
        Thread.onSpinWait();
      }
      assertTrue(server.drain());
      assertEquals(503, answer.join().statusCode(), () -> answer.join().body());
    }
  }

  @Test
  void drain_whileOnlineWorkHoldsAJob_comesToItsEnd() throws Exception {
    TestModels.write(TestModels.chain(2, 32, 9), repository.resolve("m/1/model.onnx"));
    Path jobs = Files.createDirectory(folder.resolve("jobs"));
    String data = "0,".repeat(31) + "0";
    Files.writeString(
        jobs.resolve("in.jsonl"),
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,32],\"data\":[%s]}]}"
            .formatted(data));
    String job = "{\"model\":\"m\",\"input_file\":\"in.jsonl\",\"output_file\":\"out\"}";
    Map<String, String> settings = new HashMap<>(settings("127.0.0.1", 0));
    settings.put("jobs.folder", jobs.toString());
    try (PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(settings));
        HttpClient client = HttpClient.newHttpClient();
        Arena arena = Arena.ofShared()) {
      server.imports().join();
      OnlineWork online = server.switcher().sharing().gate().online();
      ResultHandler endless = online.begin(new AwaitedResult(arena));
      HttpResponse<String> answer =
          client.send(
              HttpRequest.newBuilder(URI.create(server.url() + "/v2/jobs"))
                  .POST(BodyPublishers.ofString(job))
                  .build(),
              BodyHandlers.ofString());
      assertEquals(200, answer.statusCode(), answer.body());
      while (server.switcher().queue().requests() == 0) {
        Thread.onSpinWait();
      }
      assertTrue(server.drain());
      endless.failed(new StatusException(Status.CANCELLED, "the test is over"));
    }
  }

  /** It never answers gRPC's ping, and so all the time that a drain may take is over. */
  @Test
  void drain_grpcConnectionThatIsSilent_leavesTimeForWhatIsBehind() throws Exception {
    Map<String, String> settings = new HashMap<>(settings("127.0.0.1", 0));
    settings.put("server.grpc-port", "0");
    settings.put("server.drain-timeout", "50ms");
    try (PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(settings))) {
      URI grpc = URI.create("grpc://" + server.grpcAddress().orElseThrow());
      try (Socket silent = new Socket(grpc.getHost(), grpc.getPort())) {
        assertEquals(0, silent.getInputStream().read()); // The first byte of its settings.
        assertTrue(server.drain());
      }
    }
  }

  @Test
  void jobsFolderThatCannotBeUsed_isNamed_withTheKindOfItsFault() throws IOException {
    Path jobs = Files.createDirectory(folder.resolve("jobs"));
    Files.createFile(jobs.resolve(".jobs")); // Where a folder is to be.
    Map<String, String> settings = new HashMap<>(settings("127.0.0.1", 0));
    settings.put("jobs.folder", jobs.toString());
    StatusException refused =
        assertThrows(
            StatusException.class, () -> PipelaneServer.start(PipelaneConfig.of(settings)));
    String message = String.valueOf(refused.getMessage());
    assertTrue(message.startsWith("jobs.folder " + jobs + " cannot be used: "), message);
    assertTrue(message.endsWith("; name a folder that can be written"), message);
    assertTrue(message.contains("FileAlreadyExistsException"), message);
  }

  private PipelaneConfig config(String device) {
    return PipelaneConfig.of(
        Map.of(
            "repository.path",
            repository.toString(),
            "repository.cache",
            folder.resolve("cache").toString(),
            "device.kind",
            device,
            "device.memory",
            "32MiB",
            "server.http-port",
            "0"));
  }

  @Test
  void start_onTheCpu_saysWhatItIsGiven() {
    List<String> said = new ArrayList<>();
    PipelaneServer.start(config("cpu"), said::add).close();
    assertEquals(1, said.size(), said::toString);
    assertTrue(said.getFirst().startsWith("cpu: 32MiB for weights in pages of 2MiB, 2GiB of"));
  }

  /** ONNX Runtime from the class path has no CUDA provider, if there is a driver at all. */
  @Test
  void start_autoWithoutCuda_servesOnTheCpuAndSaysWhy() {
    assumeFalse(TestDevices.ON_GPU, "there is CUDA");
    List<String> said = new ArrayList<>();
    try (PipelaneServer server = PipelaneServer.start(config("auto"), said::add)) {
      assertEquals(Set.of("cpu"), server.devices().memory().keySet());
    }
    assertTrue(said.getFirst().startsWith("device.kind is auto: using the CPU, because "));
  }

  @Test
  void start_cudaWithoutCuda_isRefusedWithTheReason() {
    assumeFalse(TestDevices.ON_GPU, "there is CUDA");
    StatusException refusal =
        assertThrows(StatusException.class, () -> PipelaneServer.start(config("cuda")));
    assertEquals(Status.UNAVAILABLE, refusal.status());
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.startsWith("device.kind is cuda:0, but "), message);
  }
}
