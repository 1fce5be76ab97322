package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferInputTensor;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.net.LoopWatch;
import io.pipelane.switcher.Switcher;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A whole server whose models come and go, all but a small one that clients ask for meanwhile over
 * HTTP and gRPC, also as steps of an ensemble: no event loop waits for a lock under which memory is
 * mapped or a file is opened.
 */
@Timeout(120)
class EventLoopsUnderLoadTest {
  private static final int LARGE = 3;
  private static final int LARGE_WIDTH = 256;
  private static final int CLIENTS_OF_EACH = 2;

  /** Rows of requests to the ensemble: what its steps make may stay on the device. */
  private static final int ROWS = 512;

  private static final int MORE_ROWS = 1120; // No block for the others is used again for these.

  private static final String CHAIN =
      """
      ensemble:
        steps:
          - {model: small, inputs: {x: in}, outputs: {y: first}}
          - {model: small, inputs: {x: first}, outputs: {y: second}}
          - {model: small, inputs: {x: second}, outputs: {y: out}}
      """;

  private static final int SHORT_RUNS = 100;
  private static final long WARM_UP_NANOS = 10_000_000_000L;
  private static final long LOOK_AGAIN_NANOS = 5_000_000;
  private static final Duration TIME =
      Duration.ofSeconds(Boolean.getBoolean("pipelane.long") ? 60 : 4);

  @TempDir private Path folder;

  /** Memory for two of the large models and the small one, in as many pages as possible. */
  private PipelaneServer start(OwnedRepository repository) throws IOException {
    repository.model("small", 1, 1);
    repository.text("chain/pipelane.yaml", CHAIN);
    for (int i = 0; i < LARGE; i++) {
      TestModels.write(
          TestModels.chain(4 + i, LARGE_WIDTH, i), // No two of one structure.
          repository.path("large%d/1/model.onnx".formatted(i)));
    }
    return repository.start(
        Map.of(
            "device.kind", "cpu",
            "device.memory", "3MiB",
            "device.page-size", "4KiB",
            "device.ensemble-memory", "256KiB", // Less than what both kinds of requests leave.
            "scheduling.short-run-micros", "1000",
            "server.grpc-port", "0"));
  }

  @Test
  void modelsComeAndGo_noLoopWaitsForThat() throws Exception {
    try (OwnedRepository repository = new OwnedRepository(folder);
        PipelaneServer server = start(repository)) {
      ManagedChannel channel =
          NettyChannelBuilder.forTarget(server.grpcAddress().orElseThrow()).usePlaintext().build();
      try {
        GRPCInferenceServiceBlockingStub calls = GRPCInferenceServiceGrpc.newBlockingStub(channel);
        List<Callable<String>> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS_OF_EACH; i++) {
          clients.add(() -> repository.answer(server, "small"));
          clients.add(() -> call(calls, "small", "x", 1));
        }
        clients.add(() -> call(calls, "chain", "in", ROWS) + call(calls, "chain", "in", MORE_ROWS));
        repository.askWhile(clients, () -> awaitShortRuns(server.switcher()));
        watch(repository, server, clients);
      } finally {
        channel.shutdownNow();
      }
    }
  }

  private void watch(
      OwnedRepository repository, PipelaneServer server, List<Callable<String>> clients)
      throws Exception {
    Switcher switcher = server.switcher();
    long shortRuns = switcher.shortRuns();
    try (LoopWatch watch = new LoopWatch()) {
      repository.askWhile(clients, () -> comeAndGo(repository, server, TIME));
      List<String> seen = watch.seen(folder.resolve("watched.jfr"));
      assertTrue(seen.isEmpty(), () -> "blocks an event loop:\n" + String.join("\n", seen));
    }
    shortRuns = switcher.shortRuns() - shortRuns;
    System.out.printf(
        "%d short runs beside %d transfers, tensors between steps: %s%n",
        shortRuns, switcher.transfers().loads(), switcher.kept());
    assertTrue(switcher.kept().tensors() > 0, "no tensor has stayed between steps");
    assumeTrue(shortRuns > 0, "on a machine that has no time none is short: little was watched");
  }

  private static String call(
      GRPCInferenceServiceBlockingStub calls, String model, String input, int rows) {
    ModelInferRequest request =
        ModelInferRequest.newBuilder()
            .setModelName(model)
            .addInputs(
                InferInputTensor.newBuilder()
                    .setName(input)
                    .setDatatype("FP32")
                    .addShape(rows)
                    .addShape(OwnedRepository.WIDTH))
            .addRawInputContents(ByteString.copyFrom(new byte[4 * rows * OwnedRepository.WIDTH]))
            .build();
    return calls.withDeadlineAfter(30, TimeUnit.SECONDS).modelInfer(request).getModelName();
  }

  /** On a machine that has no time none is short. */
  private static void awaitShortRuns(Switcher switcher) {
    long begin = System.nanoTime();
    while (switcher.shortRuns() < SHORT_RUNS && System.nanoTime() - begin < WARM_UP_NANOS) {
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
    }
  }

  /** Brings models in and takes them off again, past the queue, and asks what tells of them. */
  private static void comeAndGo(OwnedRepository repository, PipelaneServer server, Duration time)
      throws Exception {
    Switcher switcher = server.switcher();
    long begin = System.nanoTime();
    for (int i = 0; System.nanoTime() - begin < time.toNanos(); i++) {
      ModelVersion large = new ModelVersion("large" + i % LARGE, 1);
      switcher.warmUp(large);
      if (i % 2 == 0) {
        switcher.evict(large);
      }
      if (i % 20 == 0) {
        assertEquals(200, repository.get(server, "pipelane/state").statusCode());
        assertEquals(200, repository.post(server, "repository/index", "").statusCode());
        assertEquals(200, repository.get(server, "models/large0").statusCode());
      }
    }
  }
}
