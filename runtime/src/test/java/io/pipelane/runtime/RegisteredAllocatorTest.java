package io.pipelane.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.HeapDevice.Failure;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RegisteredAllocatorTest {
  private static final Shape SHAPE = Shape.of(1, TestModels.WIDTH);
  private static final float[] X = new float[TestModels.WIDTH];

  static {
    for (int i = 0; i < X.length; i++) {
      X[i] = i - 10;
    }
  }

  @TempDir Path folder;
  private TestRuntime runtime;

  @BeforeEach
  void open() {
    runtime = new TestRuntime(folder);
  }

  @AfterEach
  void nothingIsLeft() {
    assertEquals(0, runtime.device.live());
    runtime.close();
  }

  @ParameterizedTest
  @EnumSource
  void build_anyOneAllocationFails_isACleanErrorThatLeavesNothing(Failure how) {
    Path model = runtime.write(TestModels.branches(1));
    int refusals = 0;
    boolean reached = true;
    for (int n = 0; reached; n++) {
      runtime.device.failAfter(n, how);
      try (OrtSession session = runtime.environment.open(model, SessionSettings.onDevice(1))) {
        assertEquals(1, session.inputs().size());
      } catch (StatusException e) {
        refusals++;
      }
      reached = runtime.device.hasFailed();
      assertEquals(0, runtime.device.live(), "after failure " + n);
    }
    assertTrue(refusals >= 6, "every weight is allocated, but only " + refusals + " failed");
  }

  @ParameterizedTest
  @EnumSource
  void run_anyOneAllocationFails_isACleanErrorAndTheNextRunIsRight(Failure how) {
    try (OrtSession session = runtime.open(TestModels.branches(1))) {
      float[] expected = runtime.run(session, SHAPE, X).getFirst();
      int constants = runtime.device.live();
      int refusals = 0;
      boolean reached = true;
      for (int n = 0; reached; n++) {
        runtime.device.failAfter(n, how);
        try {
          // A run does without the memory that ONNX Runtime takes in advance.
          assertArrayEquals(expected, runtime.run(session, SHAPE, X).getFirst());
        } catch (StatusException e) {
          refusals++;
        }
        reached = runtime.device.hasFailed();
        assertEquals(constants, runtime.device.live(), "after failure " + n);
        runtime.device.failAfter(Long.MAX_VALUE, how);
        assertArrayEquals(expected, runtime.run(session, SHAPE, X).getFirst());
      }
      assertTrue(refusals >= 1, "no allocation was missed");
    }
  }

  @Test
  void threeThreads_twoRunWhileOneBuilds_eachIsServedForItself() throws Exception {
    Path built = runtime.write(TestModels.branches(3));
    CyclicBarrier together = new CyclicBarrier(3);
    try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
      Future<Integer> first = threads.submit(running("first", 1, together));
      Future<Integer> second = threads.submit(running("second", 2, together));
      Future<Integer> third =
          threads.submit(
              () -> {
                runtime.device.workFor("builder");
                int constants = 0;
                for (int i = 0; i < 30; i++) {
                  if (i == 0) {
                    together.await();
                  }
                  try (OrtSession session =
                      runtime.environment.open(built, SessionSettings.onDevice(1))) {
                    constants = runtime.device.live("builder");
                    assertEquals(1, session.inputs().size());
                  }
                  assertEquals(0, runtime.device.live("builder"));
                }
                return constants;
              });
      assertEquals(first.get(), second.get(), "sessions of one structure keep the same");
      assertEquals(first.get(), third.get(), "what others allocate is charged to nobody else");
    }
    assertEquals(runtime.device.allocations("first"), runtime.device.allocations("second"));
    assertEquals(0, runtime.device.allocations("nobody"));
  }

  /** Builds a session, runs it 200 times, and answers how many allocations the session keeps. */
  private Callable<Integer> running(String owner, long seed, CyclicBarrier together) {
    Path model = runtime.write(TestModels.branches(seed));
    return () -> {
      runtime.device.workFor(owner);
      try (OrtSession session = runtime.environment.open(model, SessionSettings.onDevice(1))) {
        int constants = runtime.device.live(owner);
        float[] expected = runtime.run(session, SHAPE, X).getFirst();
        together.await();
        for (int i = 0; i < 200; i++) {
          assertArrayEquals(expected, runtime.run(session, SHAPE, X).getFirst());
        }
        assertEquals(constants, runtime.device.live(owner));
        return constants;
      }
    };
  }

  @Test
  void oneSession_concurrentRunsWithBindingsOfTheirOwn_answerForThemselves() throws Exception {
    try (OrtSession session = runtime.open(TestModels.branches(4));
        ExecutorService threads = Executors.newFixedThreadPool(3)) {
      List<Callable<Boolean>> runs =
          List.of(manyRuns(session, 1), manyRuns(session, 2), manyRuns(session, 3));
      for (Future<Boolean> run : threads.invokeAll(runs)) {
        assertTrue(run.get());
      }
    }
  }

  private Callable<Boolean> manyRuns(OrtSession session, float scale) {
    float[] x = X.clone();
    for (int i = 0; i < x.length; i++) {
      x[i] *= scale;
    }
    float[] expected = runtime.run(session, SHAPE, x).getFirst();
    return () -> {
      for (int i = 0; i < 100; i++) {
        assertArrayEquals(expected, runtime.run(session, SHAPE, x).getFirst());
      }
      return true;
    };
  }

  @Test
  void open_modelThatCannotBeServed_leavesNothing() {
    ModelProto model =
        TestModels.model(
            ai.onnx.proto.OnnxMl.GraphProto.newBuilder()
                .addInput(TestModels.batch("x", TestModels.WIDTH))
                .addInitializer(
                    TestModels.weight(
                        "w", new java.util.Random(1), TestModels.WIDTH, TestModels.WIDTH))
                .addNode(TestModels.node("MatMul", List.of("x", "w"), "m"))
                .addNode(TestModels.node("SequenceConstruct", List.of("m"), "y"))
                .addOutput(
                    ai.onnx.proto.OnnxMl.ValueInfoProto.newBuilder()
                        .setName("y")
                        .setType(
                            ai.onnx.proto.OnnxMl.TypeProto.newBuilder()
                                .setSequenceType(
                                    ai.onnx.proto.OnnxMl.TypeProto.Sequence.newBuilder()
                                        .setElemType(
                                            TestModels.batch("m", TestModels.WIDTH).getType())))));
    StatusException error = assertThrows(StatusException.class, () -> runtime.open(model).close());
    assertTrue(error.toString().contains("sequence"), error.toString());
    assertEquals(0, runtime.device.live());
  }
}
