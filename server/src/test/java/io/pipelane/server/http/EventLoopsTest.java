package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.StreamObserver;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.modelstore.repository.RepositoryWriter;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.LogSettingsRequest;
import io.pipelane.protocol.grpc.ModelConfigRequest;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelMetadataRequest;
import io.pipelane.protocol.grpc.ModelStatisticsRequest;
import io.pipelane.protocol.grpc.ModelStreamInferResponse;
import io.pipelane.protocol.grpc.RepositoryIndexRequest;
import io.pipelane.protocol.grpc.RepositoryModelLoadRequest;
import io.pipelane.protocol.grpc.ServerMetadataRequest;
import io.pipelane.protocol.grpc.ServerReadyRequest;
import io.pipelane.protocol.grpc.SystemSharedMemoryStatusRequest;
import io.pipelane.protocol.grpc.TraceSettingRequest;
import io.pipelane.server.grpc.GrpcServer;
import io.pipelane.server.grpc.GrpcSettings;
import io.pipelane.server.jobs.JobParts;
import io.pipelane.server.jobs.Jobs;
import io.pipelane.server.jobs.JobsSettings;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.LoopWatch;
import io.pipelane.server.net.Transport;
import io.pipelane.server.observability.LogWriter;
import io.pipelane.server.shared.SharedMemory;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.switcher.InferenceService;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.Arena;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Nothing that is asked blocks an event loop, whatever it waits for. */
@Timeout(60)
class EventLoopsTest {
  private static final String INFER =
      "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,4],\"datatype\":\"FP32\",\"data\":[1,2,3,4]}]}";
  private static final String SHARED =
      "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,4],\"datatype\":\"FP32\",\"parameters\":"
          + "{\"shared_memory_region\":\"r\",\"shared_memory_byte_size\":16}}],"
          + "\"outputs\":[{\"name\":\"y_x\",\"parameters\":{\"shared_memory_region\":\"r\","
          + "\"shared_memory_offset\":16,\"shared_memory_byte_size\":16}}]}";

  @TempDir private Path folder;

  /** As {@code pipelane serve} does. */
  @BeforeAll
  static void writeTheLogAside() {
    LogWriter.install();
  }

  private static HttpServer start(Backend backend) {
    HttpSettings settings =
        new HttpSettings(
            "127.0.0.1",
            0,
            Transport.AUTO,
            1,
            8 << 20,
            16,
            Duration.ofSeconds(20),
            Optional.empty());
    return HttpServer.start(
        settings, backend, new TransferMemory(Arena.ofAuto().allocate(1 << 20)));
  }

  private static GrpcServer startGrpc(Backend backend) {
    GrpcSettings settings =
        new GrpcSettings(
            "127.0.0.1",
            0,
            Transport.AUTO,
            1,
            8 << 20,
            16,
            Duration.ofSeconds(20),
            Optional.empty());
    return GrpcServer.start(
        settings, backend, new TransferMemory(Arena.ofAuto().allocate(1 << 20)));
  }

  private static void callEverything(GrpcServer server) {
    ManagedChannel channel =
        NettyChannelBuilder.forAddress(server.address()).usePlaintext().build();
    try {
      var client =
          GRPCInferenceServiceGrpc.newBlockingStub(channel).withDeadlineAfter(30, TimeUnit.SECONDS);
      ModelInferRequest infer =
          ModelInferRequest.newBuilder()
              .setModelName("echo")
              .addInputs(
                  ModelInferRequest.InferInputTensor.newBuilder()
                      .setName("x")
                      .setDatatype("FP32")
                      .addShape(1)
                      .addShape(4))
              .addRawInputContents(ByteString.copyFrom(new byte[16]))
              .build();
      assertEquals("echo", client.modelInfer(infer).getModelName());
      callWithLargeMessages(channel, infer);
      assertTrue(client.serverReady(ServerReadyRequest.getDefaultInstance()).getReady());
      client.serverMetadata(ServerMetadataRequest.getDefaultInstance());
      client.modelMetadata(ModelMetadataRequest.newBuilder().setName("echo").build());
      client.modelConfig(ModelConfigRequest.newBuilder().setName("echo").build());
      client.modelStatistics(ModelStatisticsRequest.getDefaultInstance());
      client.repositoryIndex(RepositoryIndexRequest.getDefaultInstance());
      client.repositoryModelLoad(
          RepositoryModelLoadRequest.newBuilder().setModelName("echo").build());
      client.traceSetting(TraceSettingRequest.getDefaultInstance());
      client.logSettings(LogSettingsRequest.getDefaultInstance());
      client.systemSharedMemoryStatus(SystemSharedMemoryStatusRequest.getDefaultInstance());
      HealthGrpc.newBlockingStub(channel).check(HealthCheckRequest.getDefaultInstance());
    } finally {
      channel.shutdownNow();
    }
  }

  private static void callWithLargeMessages(ManagedChannel channel, ModelInferRequest small) {
    ModelInferRequest large =
        small.toBuilder()
            .setInputs(0, small.getInputs(0).toBuilder().setShape(0, 1 << 17))
            .setRawInputContents(0, ByteString.copyFrom(new byte[2 << 20]))
            .build();
    var client =
        GRPCInferenceServiceGrpc.newBlockingStub(channel)
            .withDeadlineAfter(30, TimeUnit.SECONDS)
            .withMaxInboundMessageSize(8 << 20);
    assertEquals("echo", client.modelInfer(large).getModelName());
    assertEquals("echo", client.withCompression("gzip").modelInfer(large).getModelName());
    BlockingQueue<ModelStreamInferResponse> answers = new LinkedBlockingQueue<>();
    StreamObserver<ModelInferRequest> requests =
        GRPCInferenceServiceGrpc.newStub(channel)
            .withDeadlineAfter(30, TimeUnit.SECONDS)
            .withMaxInboundMessageSize(8 << 20)
            .modelStreamInfer(
                new StreamObserver<>() {
                  @Override
                  public void onNext(ModelStreamInferResponse answer) {
                    answers.add(answer);
                  }

                  @Override
                  public void onError(Throwable error) {
                    answers.add(ModelStreamInferResponse.getDefaultInstance());
                  }

                  @Override
                  public void onCompleted() {}
                });
    for (int i = 0; i < 8; i++) {
      requests.onNext(i % 2 == 0 ? large : small);
    }
    for (int i = 0; i < 8; i++) {
      assertEquals("echo", answer(answers).getInferResponse().getModelName());
    }
    requests.onCompleted();
  }

  private static <T> T answer(BlockingQueue<T> answers) {
    try {
      return answers.take();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Reply ask(HttpServer server, String method, String path, String body)
      throws IOException {
    String request =
        "%s %s HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s"
            .formatted(method, path, body.length(), body);
    try (Socket socket = new Socket(server.address().getAddress(), server.address().getPort())) {
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      return Reply.all(socket.getInputStream().readAllBytes()).getFirst();
    }
  }

  @Test
  void noRoute_blocksItsLoop() throws Exception {
    Files.write(folder.resolve("tensors"), new byte[64]);
    FakeCatalog catalog = FakeCatalog.usual();
    catalog.loading.complete(null);
    catalog.unloads = true;
    Path repository = Files.createDirectory(folder.resolve("repository"));
    catalog.writer = new RepositoryWriter(repository, new ByteSize(1 << 20), new Random(7));
    try (ExecutorService lane = Executors.newSingleThreadExecutor();
        SharedMemory memory = SharedMemory.in(folder, 1024);
        Jobs jobs = jobs(catalog, new EchoService(lane));
        LoopWatch watch = new LoopWatch()) {
      Backend backend = withJobs(Backends.sharing(catalog, new EchoService(lane), memory), jobs);
      try (HttpServer server = start(backend)) {
        askEverything(server);
        manageModels(server);
        askForJobs(server);
        followEvents(server);
        try (Http2Client client = new Http2Client(server.address())) {
          byte[] body = INFER.getBytes(StandardCharsets.UTF_8);
          assertEquals(200, client.post("/v2/models/echo/infer", body).status());
        }
      }
      try (GrpcServer server = startGrpc(backend)) {
        callEverything(server);
      }
      List<String> seen = watch.seen(folder.resolve("watched.jfr"));
      assertTrue(seen.isEmpty(), () -> "blocks an event loop:\n" + String.join("\n", seen));
    }
  }

  private static void askEverything(HttpServer server) throws IOException {
    String region = "/v2/systemsharedmemory/region/r/";
    String json = "{\"key\":\"tensors\",\"byte_size\":64}";
    assertEquals(200, ask(server, "POST", region + "register", json).status());
    assertEquals(200, ask(server, "POST", "/v2/models/echo/infer", SHARED).status());
    assertEquals(200, ask(server, "POST", "/v2/models/echo/infer", INFER).status());
    assertEquals(200, ask(server, "GET", region + "status", "").status());
    assertEquals(200, ask(server, "POST", region + "unregister", "").status());
    assertEquals(200, ask(server, "POST", "/v2/logging", "{\"log_info\":true}").status());
    for (String path :
        List.of(
            "/",
            "/page/main.js",
            "/metrics",
            "/v2",
            "/v2/health/ready",
            "/v2/models/echo",
            "/v2/models/echo/config",
            "/v2/models/stats",
            "/v2/pipelane/state",
            "/v2/pipelane/samples",
            "/v2/hosts",
            "/v2/trace/setting",
            "/v2/logging",
            "/v2/workers")) {
      assertEquals(200, ask(server, "GET", path, "").status(), path);
    }
    assertEquals(200, ask(server, "POST", "/v2/repository/index", "").status());
  }

  private static void manageModels(HttpServer server) throws IOException {
    String model = "/v2/repository/models/echo";
    assertEquals(200, ask(server, "POST", model + "/load", "").status());
    assertEquals(200, ask(server, "POST", model + "/unload", "").status());
    assertEquals(200, ask(server, "PUT", model + "/options", "priority: offline").status());
    assertEquals(200, ask(server, "GET", model + "/options", "").status());
    assertEquals(200, ask(server, "GET", model + "/versions", "").status());
    assertEquals(200, ask(server, "POST", model + "/versions", "{\"default\":\"1\"}").status());
    assertEquals(201, ask(server, "PUT", model + "/versions/3", "x").status());
    assertEquals(200, ask(server, "GET", model + "/versions/3", "").status());
    assertEquals(200, ask(server, "DELETE", model + "/versions/3", "").status());
  }

  private static void askForJobs(HttpServer server) throws IOException {
    String job = "{\"model\":\"echo\",\"output_file\":\"o\",\"items\":[" + INFER + "]}";
    Reply submitted = ask(server, "POST", "/v2/jobs", job);
    assertEquals(200, submitted.status(), submitted.text());
    String one = "/v2/jobs/" + submitted.text().replaceAll(".*\"id\":\"(\\w+)\".*", "$1");
    assertEquals(200, ask(server, "GET", "/v2/jobs", "").status());
    assertEquals(200, ask(server, "GET", one, "").status());
    assertEquals(200, ask(server, "DELETE", one, "").status());
  }

  private static void followEvents(HttpServer server) throws IOException {
    try (Socket socket = new Socket(server.address().getAddress(), server.address().getPort())) {
      String request = Requests.get("/v2/pipelane/events");
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      BufferedReader lines =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
      String line = lines.readLine();
      while (line != null && !line.startsWith("data: ")) {
        line = lines.readLine();
      }
      assertNotNull(line, "an event comes");
    }
  }

  private Jobs jobs(FakeCatalog catalog, InferenceService service) throws IOException {
    Path files = Files.createDirectory(folder.resolve("jobs"));
    JobsSettings settings =
        new JobsSettings(
            files,
            1,
            3,
            1,
            3,
            1 << 10,
            OptionalDouble.empty(),
            Duration.ofMillis(1),
            0,
            Optional.empty());
    JobParts parts =
        new JobParts(
            settings,
            catalog,
            service,
            new InferenceStatistics(),
            new Random(1),
            Clock.systemUTC());
    return Jobs.open(parts, Optional.empty());
  }

  private static Backend withJobs(Backend backend, Jobs jobs) {
    return new Backend(
        backend.catalog(),
        backend.service(),
        backend.statistics(),
        backend.metrics(),
        backend.state(),
        backend.access(),
        Optional.of(jobs),
        backend.observation(),
        backend.sharedMemory());
  }

  @Test
  void whatBlocksALoop_isSeen() throws Exception {
    EchoService echo = EchoService.inline();
    try (LoopWatch watch = new LoopWatch()) {
      Backend backend =
          Backends.of(
              FakeCatalog.usual(),
              (request, handler) -> {
                java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
                return echo.submit(request, handler);
              });
      try (HttpServer server = start(backend)) {
        assertEquals(200, ask(server, "POST", "/v2/models/echo/infer", INFER).status());
      }
      assertFalse(watch.seen(folder.resolve("watched.jfr")).isEmpty());
    }
  }
}
