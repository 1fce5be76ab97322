package io.pipelane.loadgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import io.grpc.Attributes;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerTransportFilter;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc.GRPCInferenceServiceImplBase;
import io.pipelane.protocol.grpc.InferStatistics;
import io.pipelane.protocol.grpc.InferTensorContents;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.protocol.grpc.ModelInferResponse.InferOutputTensor;
import io.pipelane.protocol.grpc.ModelMetadataRequest;
import io.pipelane.protocol.grpc.ModelMetadataResponse;
import io.pipelane.protocol.grpc.ModelMetadataResponse.TensorMetadata;
import io.pipelane.protocol.grpc.ModelStatistics;
import io.pipelane.protocol.grpc.ModelStatisticsRequest;
import io.pipelane.protocol.grpc.ModelStatisticsResponse;
import io.pipelane.protocol.grpc.RepositoryIndexRequest;
import io.pipelane.protocol.grpc.RepositoryIndexResponse;
import io.pipelane.protocol.grpc.RepositoryIndexResponse.ModelIndex;
import io.pipelane.protocol.grpc.ServerMetadataRequest;
import io.pipelane.protocol.grpc.ServerMetadataResponse;
import io.pipelane.protocol.grpc.StatisticDuration;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/**
 * The load generator against a gRPC server that knows two calls of Triton's service and a model.
 */
@Timeout(60)
class GrpcServerTest {
  private static final Metadata.Key<String> STALL =
      Metadata.Key.of("Pipelane-Stall-Us", Metadata.ASCII_STRING_MARSHALLER);

  private final AtomicInteger inferences = new AtomicInteger();
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  private final Server server;
  private final int port;
  private final AtomicInteger connected = new AtomicInteger();
  private volatile int failEvery = Integer.MAX_VALUE;
  private volatile int silentAt = Integer.MAX_VALUE;
  private volatile Status failure = Status.RESOURCE_EXHAUSTED.withDescription("the queue is full");

  @TempDir private Path folder;

  GrpcServerTest() throws IOException {
    server =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .addService(new Service())
            .intercept(new ColdEveryTenth())
            .addTransportFilter(
                new ServerTransportFilter() {
                  @Override
                  public Attributes transportReady(Attributes attributes) {
                    connected.incrementAndGet();
                    return attributes;
                  }
                })
            .build()
            .start();
    port = server.getPort();
  }

  @AfterEach
  void stop() {
    server.shutdownNow();
  }

  @Test
  void grpc_readyModels_areMeasuredAndSplit() throws IOException {
    Path file = folder.resolve("result.json");

    int status = execute("--concurrency 1 --request-count 200 --warmup 0s --json " + file);

    assertTrue(
        Set.of(ExitStatus.OK, ExitStatus.BOTTLENECK).contains(ExitStatus.of(status)),
        err.toString());
    assertEquals(200, inferences.get());
    JsonNode run = new ObjectMapper().readTree(file.toFile()).at("/steps/0/runs/0");
    assertEquals(200, run.at("/total/answered").asInt());
    assertEquals("m", run.at("/models/0/model").asText());
    assertEquals(20, run.at("/models/0/cold_response_time_us/count").asInt(), run.toString());
    assertEquals(200, run.at("/models/0/server/inferences").asInt(), run.at("/models").toString());
    assertEquals(2, run.at("/models/0/server/mean_us/queue").asDouble());
    assertTrue(out.toString().contains("tester 1.2"), out.toString());
  }

  @Test
  void grpc_expectedOutputs_areCompared() throws IOException {
    Path data =
        Files.writeString(
            folder.resolve("m.json"),
            """
            {"data": [{"x": {"content": [1, 2, 3, 4], "shape": [1, 4]}}],
             "validation_data": [
               {"raw": {"content": [1, 2, 3, 4], "shape": [1, 4]},
                "listed": {"content": [7, 8], "shape": [2]}}]}""");

    int right = execute("--concurrency 1 --request-count 5 --check-outputs --input-data " + data);
    Files.writeString(data, Files.readString(data).replace("[7, 8]", "[7, 9]"));
    int wrong = execute("--concurrency 1 --request-count 5 --check-outputs --input-data " + data);

    assertTrue(
        Set.of(ExitStatus.OK, ExitStatus.BOTTLENECK).contains(ExitStatus.of(right)),
        out.toString() + err);
    assertTrue(out.toString().contains("wrong answer"), out.toString());
    assertTrue(wrong != ExitStatus.OK.code(), out.toString());
  }

  @Test
  void grpc_refusals_areErrorsByCode() {
    failEvery = 2;

    int status = execute("--concurrency 1 --request-count 10 --warmup 0s");

    assertEquals(ExitStatus.ERRORS.code(), status, out.toString());
    assertTrue(out.toString().contains("gRPC RESOURCE_EXHAUSTED"), out.toString());
    assertTrue(out.toString().contains("the queue is full"), out.toString());
  }

  /** A server that is about to end says so, and is there all the same. */
  @Test
  void grpc_serverSaysUnavailable_connectionIsNotLost() throws IOException {
    Path file = folder.resolve("result.json");
    failEvery = 2;
    failure = Status.UNAVAILABLE.withDescription("it is about to end");

    int _ = execute("--concurrency 1 --request-count 10 --warmup 0s --json " + file);

    JsonNode run = new ObjectMapper().readTree(file.toFile()).at("/steps/0/runs/0");
    assertEquals("gRPC UNAVAILABLE", run.at("/total/error_kinds/0/kind").asText(), run.toString());
    assertEquals(5, run.at("/total/errors").asInt());
    assertEquals(0, run.at("/sends/reconnects").asInt());
  }

  @Test
  void grpc_requestIsGivenUp_nextOneHasAnotherConnection() {
    int _ = execute("--concurrency 1 --request-count 6 --warmup 0s");
    int usual = connected.get();
    silentAt = inferences.get() + 3;

    int _ = execute("--concurrency 1 --request-count 6 --warmup 0s --timeout 200ms");

    assertTrue(out.toString().contains("no answer"), out.toString());
    assertEquals(2 * usual + 1, connected.get());
  }

  @Test
  void grpc_nobodyListens_isReported() throws Exception {
    try (ClosedPort nobody = new ClosedPort()) {
      assertEquals(
          ExitStatus.OTHER.code(),
          execute(nobody.url().getPort(), "-m m --concurrency 1 --request-count 10"));
    }
    assertTrue(err.toString().contains("cannot ask grpc://127.0.0.1"), err.toString());
    assertTrue(err.toString().contains("Connection refused"), err.toString());
    assertEquals(1, err.toString().lines().count(), err.toString());
  }

  @Test
  void grpc_modelIsRefusedWithoutAWord_statusAloneIsReported() {
    int status = execute("-m speechless --concurrency 1 --request-count 10");

    assertEquals(ExitStatus.OTHER.code(), status);
    assertTrue(
        err.toString().strip().endsWith("for the metadata of speechless: NOT_FOUND"),
        err.toString());
  }

  private int execute(String arguments) {
    return execute(port, arguments);
  }

  private int execute(int port, String arguments) {
    CommandLine commandLine = Loadgen.commandLine();
    commandLine.setOut(new PrintWriter(out, true));
    commandLine.setErr(new PrintWriter(err, true));
    return commandLine.execute(("-i grpc -u 127.0.0.1:" + port + " " + arguments).split(" +", -1));
  }

  private final class Service extends GRPCInferenceServiceImplBase {
    @Override
    public void serverMetadata(
        ServerMetadataRequest request, StreamObserver<ServerMetadataResponse> answers) {
      answer(
          answers, ServerMetadataResponse.newBuilder().setName("tester").setVersion("1.2").build());
    }

    @Override
    public void repositoryIndex(
        RepositoryIndexRequest request, StreamObserver<RepositoryIndexResponse> answers) {
      ModelIndex index = ModelIndex.newBuilder().setName("m").setState("READY").build();
      answer(answers, RepositoryIndexResponse.newBuilder().addModels(index).build());
    }

    @Override
    public void modelMetadata(
        ModelMetadataRequest request, StreamObserver<ModelMetadataResponse> answers) {
      if (request.getName().equals("speechless")) {
        answers.onError(Status.NOT_FOUND.asRuntimeException());
        return;
      }
      answer(
          answers,
          ModelMetadataResponse.newBuilder()
              .setName(request.getName())
              .addInputs(tensor("x", "FP32").addShape(-1).addShape(4))
              .addOutputs(tensor("raw", "FP32").addShape(-1).addShape(4))
              .addOutputs(tensor("listed", "INT32").addShape(2))
              .build());
    }

    @Override
    public void modelStatistics(
        ModelStatisticsRequest request, StreamObserver<ModelStatisticsResponse> answers) {
      StatisticDuration queue =
          StatisticDuration.newBuilder()
              .setCount(inferences.get())
              .setNs(2000L * inferences.get())
              .build();
      answer(
          answers,
          ModelStatisticsResponse.newBuilder()
              .addModelStats(
                  ModelStatistics.newBuilder()
                      .setName("m")
                      .setInferenceCount(inferences.get())
                      .setInferenceStats(InferStatistics.newBuilder().setQueue(queue)))
              .build());
    }

    @Override
    public void modelInfer(ModelInferRequest request, StreamObserver<ModelInferResponse> answers) {
      if (inferences.incrementAndGet() % failEvery == 0) {
        answers.onError(failure.asRuntimeException());
        return;
      }
      if (inferences.get() == silentAt) {
        return;
      }
      ByteString input = request.getRawInputContents(0);
      assertEquals(16, input.size());
      answer(
          answers,
          ModelInferResponse.newBuilder()
              .addOutputs(InferOutputTensor.newBuilder().setName("raw").setDatatype("FP32"))
              .addRawOutputContents(input)
              .addOutputs(
                  InferOutputTensor.newBuilder()
                      .setName("listed")
                      .setDatatype("INT32")
                      .setContents(
                          InferTensorContents.newBuilder().addIntContents(7).addIntContents(8)))
              .build());
    }

    private static TensorMetadata.Builder tensor(String name, String type) {
      return TensorMetadata.newBuilder().setName(name).setDatatype(type);
    }

    private static <T> void answer(StreamObserver<T> answers, T answer) {
      answers.onNext(answer);
      answers.onCompleted();
    }
  }

  /** Says with each inference how long it waited for weights. */
  private final class ColdEveryTenth implements ServerInterceptor {
    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
      return next.startCall(
          new SimpleForwardingServerCall<>(call) {
            @Override
            public void sendHeaders(Metadata answered) {
              answered.put(STALL, inferences.get() % 10 == 0 ? "250" : "0");
              super.sendHeaders(answered);
            }
          },
          headers);
    }
  }
}
