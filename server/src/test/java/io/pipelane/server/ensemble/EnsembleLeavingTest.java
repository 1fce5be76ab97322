package io.pipelane.server.ensemble;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.Repository;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.SharedCache;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.PipelaneServer;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SpanningModels;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An ensemble on a device whose last model leaves while its first one runs. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EnsembleLeavingTest {
  private static final int WIDTH = 32;
  private static final ModelVersion SECOND = new ModelVersion("second", 1);

  @TempDir private Path folder = Path.of("");
  private final TransferMemory transfers = new TransferMemory(Arena.ofAuto().allocate(1 << 20));
  private final CountDownLatch running = new CountDownLatch(1);
  private final CountDownLatch goOn = new CountDownLatch(1);

  private void write(ModelVersion version, long seed) throws IOException {
    TestModels.write(
        TestModels.chain(2, WIDTH, seed),
        folder.resolve("models/%s/%d/model.onnx".formatted(version.model(), version.version())));
  }

  private PipelaneServer start() throws IOException {
    write(new ModelVersion("first", 1), 1);
    write(SECOND, 2);
    Path chain = folder.resolve("ensembles/both/pipelane.yaml");
    Files.createDirectories(chain.getParent());
    Files.writeString(
        chain,
        """
        ensemble:
          steps:
            - {model: first, inputs: {x: in}, outputs: {y: between}}
            - {model: first, inputs: {x: between}, outputs: {y: beside}}
            - {model: second, inputs: {x: between}, outputs: {y: out}}
        """);
    PipelaneServer server =
        PipelaneServer.start(
            PipelaneConfig.of(
                TestDevices.settings(
                    Map.of(
                        "repository.path",
                        folder.resolve("models").toString(),
                        "repository.cache",
                        SharedCache.folder().toString(),
                        "device.memory",
                        "8MiB",
                        "server.http-port",
                        "0"))));
    server.imports().join();
    return server;
  }

  /** The ensemble on a server's devices. */
  private final class Chain {
    private final EnsembleCatalog catalog;
    private final EnsembleService service;
    private final ModelVersion version = new ModelVersion("both", EnsemblePlan.VERSION);

    Chain(PipelaneServer server) {
      catalog =
          new EnsembleCatalog(
              server.catalog(),
              new Repository(folder.resolve("ensembles")),
              SpanningModels.NONE,
              Runnable::run);
      catalog.start();
      service =
          new EnsembleService(
              catalog,
              server.devices(),
              SpanningModels.NONE,
              new InferenceStatistics(),
              new TransferBuffers(transfers));
    }

    Ticket submit(ResultHandler caller) {
      float[] x = new float[WIDTH];
      for (int i = 0; i < WIDTH; i++) {
        x[i] = (float) Math.sin(i);
      }
      MemorySegment data = Arena.ofAuto().allocateFrom(ValueLayout.JAVA_FLOAT, x);
      return service.submit(
          new InferenceRequest(
              version,
              List.of(new InputTensor("in", TensorType.FP32, Shape.of(1, WIDTH), data)),
              List.of("beside", "out")),
          caller);
    }

    float[] ask() {
      Caller caller = new Caller();
      submit(caller);
      return caller.answer();
    }
  }

  /** Awaits what the ensemble answers as {@code out}. */
  private static class Caller implements ResultHandler {
    private final CompletableFuture<float[]> answer = new CompletableFuture<>();
    private MemorySegment out = MemorySegment.NULL;

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      MemorySegment data = Arena.ofAuto().allocate(byteSize, 64);
      if (name.equals("out")) {
        out = data;
      }
      return data;
    }

    @Override
    public void completed(InferenceTimings timings) {
      answer.complete(out.toArray(ValueLayout.JAVA_FLOAT));
    }

    @Override
    public void failed(StatusException error) {
      answer.completeExceptionally(error);
    }

    /** Waits for the answer, or throws the error. */
    float[] answer() {
      try {
        return answer.join();
      } catch (CompletionException e) {
        if (e.getCause() instanceof StatusException error) {
          throw error;
        }
        throw e;
      }
    }
  }

  /** Keeps a step before the last one from ending until the test says so. */
  private final class SlowCaller extends Caller {
    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      if (name.equals("beside")) {
        running.countDown();
        try {
          goOn.await();
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      }
      return super.place(name, type, shape, byteSize);
    }
  }

  private static void awaitLeaving(PipelaneServer server, ModelVersion version) {
    boolean leaves = false;
    while (!leaves) {
      try {
        server.devices().hold(version).close();
        Thread.onSpinWait();
      } catch (StatusException e) {
        leaves = true;
      }
    }
  }

  private interface Leave {
    CompletableFuture<Void> begin() throws IOException;
  }

  /** Asks, has the last model leave while a step before it runs, and returns the answer. */
  private float[] askWhile(PipelaneServer server, Chain chain, Leave leave) throws Exception {
    SlowCaller caller = new SlowCaller();
    Thread.ofPlatform().start(() -> chain.submit(caller)); // It may run on the submitter's thread.
    running.await();
    CompletableFuture<Void> left = leave.begin();
    awaitLeaving(server, SECOND);
    boolean hasLeft = left.isDone();
    goOn.countDown();
    assertFalse(hasLeft, "the request holds it");
    float[] answer = caller.answer();
    left.join();
    server.devices().verify();
    assertEquals(0, transfers.lentBytes());
    return answer;
  }

  @Test
  void lastModelIsUnloaded_theAnswerIsRightAndItLeavesAfterwards() throws Exception {
    try (PipelaneServer server = start()) {
      Chain chain = new Chain(server);
      float[] expected = chain.ask();
      float[] answer = askWhile(server, chain, () -> server.catalog().unload("second"));
      assertArrayEquals(expected, answer);
      assertEquals(Status.NOT_FOUND, assertThrows(StatusException.class, chain::ask).status());
      server.catalog().unload("first").join();
      assertEquals(0, server.switcher().memory().weights().lentBytes());
      assertEquals(0, server.switcher().memory().constantBytes());
    }
  }

  @Test
  void lastModelIsRolledForward_theRequestHasTheOldOneAndTheNextTheNew() throws Exception {
    try (PipelaneServer server = start()) {
      Chain chain = new Chain(server);
      float[] expected = chain.ask();
      float[] answer =
          askWhile(
              server,
              chain,
              () -> {
                write(new ModelVersion("second", 2), 3);
                Path old = folder.resolve("models/second/1");
                Files.delete(old.resolve("model.onnx"));
                Files.delete(old);
                return server.catalog().load("second");
              });
      assertArrayEquals(expected, answer);
      assertFalse(Arrays.equals(expected, chain.ask()));
    }
  }

  @Test
  void lastModelIsRegisteredAnew_theRequestHasItAsItWas() throws Exception {
    try (PipelaneServer server = start()) {
      Chain chain = new Chain(server);
      float[] expected = chain.ask();
      float[] answer =
          askWhile(
              server,
              chain,
              () -> {
                write(SECOND, 3);
                return server.catalog().load("second");
              });
      assertArrayEquals(expected, answer);
      assertFalse(Arrays.equals(expected, chain.ask()));
    }
  }

  @Test
  void callerHasGone_theModelLeavesAllTheSame() throws Exception {
    try (PipelaneServer server = start()) {
      Chain chain = new Chain(server);
      SlowCaller caller = new SlowCaller();
      CompletableFuture<Ticket> ticket = new CompletableFuture<>();
      Thread.ofPlatform().start(() -> ticket.complete(chain.submit(caller)));
      running.await();
      CompletableFuture<Void> left = server.catalog().unload("second");
      awaitLeaving(server, SECOND);
      ticket.join().cancel();
      goOn.countDown();
      assertEquals(Status.CANCELLED, assertThrows(StatusException.class, caller::answer).status());
      left.join();
      server.devices().verify();
      assertEquals(0, transfers.lentBytes());
    }
  }

  /** A GPU's product of more rows, where two requests run together, is not the same to the bit. */
  private static boolean isClose(float[] expected, float[] answer) {
    return IntStream.range(0, expected.length)
        .allMatch(i -> Math.abs(expected[i] - answer[i]) < 2e-3);
  }

  @Test
  void rollsWhileClientsAsk_everyRequestIsAnswered() throws Exception {
    try (PipelaneServer server = start();
        ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Chain chain = new Chain(server);
      float[] old = chain.ask();
      write(new ModelVersion("second", 2), 3);
      server.catalog().load("second").join();
      float[] next = chain.ask();
      AtomicBoolean over = new AtomicBoolean();
      List<Future<?>> clients = new ArrayList<>();
      for (int c = 0; c < 2; c++) {
        clients.add(
            threads.submit(
                () -> {
                  while (!over.get()) {
                    float[] answer = chain.ask();
                    assertTrue(
                        isClose(old, answer) || isClose(next, answer),
                        () -> Arrays.toString(answer));
                  }
                }));
      }
      Path file = folder.resolve("models/second/2/model.onnx");
      for (int roll = 0; roll < 6; roll++) {
        if (roll % 2 == 0) {
          Files.move(file, folder.resolve("away.onnx"));
          Files.delete(file.getParent());
        } else {
          Files.createDirectories(file.getParent());
          Files.move(folder.resolve("away.onnx"), file);
        }
        server.catalog().load("second").join();
      }
      over.set(true);
      for (Future<?> client : clients) {
        client.get();
      }
      server.devices().verify();
    }
  }
}
