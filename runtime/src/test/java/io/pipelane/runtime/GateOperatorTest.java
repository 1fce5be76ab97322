package io.pipelane.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class GateOperatorTest {
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

  /** {@code y = -(-(-x))}, a gate before each. */
  private static ModelProto threeGates() {
    return TestRuntime.gatedModel(
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 2))
            .addNode(TestRuntime.gate(1, List.of("x"), List.of("x1")))
            .addNode(TestModels.node("Neg", List.of("x1"), "a"))
            .addNode(TestRuntime.gate(2, List.of("a"), List.of("a2")))
            .addNode(TestModels.node("Neg", List.of("a2"), "b"))
            .addNode(TestRuntime.gate(3, List.of("b"), List.of("b3")))
            .addNode(TestModels.node("Neg", List.of("b3"), "y"))
            .addOutput(TestModels.batch("y", 2)));
  }

  @Test
  void run_tellsEveryGateInOrder() {
    try (OrtSession session = runtime.open(threeGates())) {
      List<Integer> reached = new ArrayList<>();
      List<float[]> result = runtime.run(session, reached::add, Shape.of(1, 2), 1, 2);
      assertEquals(List.of(1, 2, 3), reached);
      assertArrayEquals(new float[] {-1, -2}, result.getFirst());
    }
  }

  @Test
  void run_listenerThrowsAnything_endsWithStatusAndNextRunIsRight() {
    try (OrtSession session = runtime.open(threeGates())) {
      for (int failing = 1; failing <= 3; failing++) {
        int gate = failing;
        for (Throwable fault :
            List.of(new IllegalStateException("no luck"), new AssertionError("no luck"))) {
          List<Integer> reached = new ArrayList<>();
          StatusException error =
              assertThrows(
                  StatusException.class,
                  () ->
                      runtime.run(
                          session,
                          g -> {
                            reached.add(g);
                            if (g == gate) {
                              throwUnchecked(fault);
                            }
                          },
                          Shape.of(1, 2),
                          1,
                          2));
          assertEquals(Status.INTERNAL, error.status());
          assertTrue(error.toString().contains("no luck"), error.toString());
          assertEquals(gate, reached.size(), "nothing runs behind the gate that failed");
          assertArrayEquals(
              new float[] {-3, 4}, runtime.run(session, Shape.of(1, 2), 3, -4).getFirst());
        }
      }
    }
  }

  private static void throwUnchecked(Throwable fault) {
    switch (fault) {
      case RuntimeException e -> throw e;
      case Error e -> throw e;
      default -> throw new AssertionError(fault);
    }
  }

  @Test
  void run_listenerThrowsStatus_keepsIt() {
    StatusException reason = new StatusException(Status.UNAVAILABLE, "weights are late");
    try (OrtSession session = runtime.open(threeGates())) {
      StatusException error =
          assertThrows(
              StatusException.class,
              () ->
                  runtime.run(
                      session,
                      gate -> {
                        throw reason;
                      },
                      Shape.of(1, 2),
                      1,
                      2));
      assertSame(reason, error);
    }
  }

  @Test
  void run_insideAListener_leavesTheOuterRunAlone() {
    try (OrtSession session = runtime.open(threeGates())) {
      List<String> reached = new ArrayList<>();
      runtime.run(
          session,
          outer -> {
            reached.add("outer" + outer);
            if (outer == 2) {
              runtime.run(session, inner -> reached.add("inner" + inner), Shape.of(1, 2), 1, 2);
            }
          },
          Shape.of(1, 2),
          1,
          2);
      assertEquals(List.of("outer1", "outer2", "inner1", "inner2", "inner3", "outer3"), reached);
    }
  }

  @Test
  void gate_outputIsGraphOutput_bytesAreCopied() {
    ModelProto model =
        TestRuntime.gatedModel(
            GraphProto.newBuilder()
                .addInput(TestModels.batch("x", 2))
                .addNode(TestModels.node("Neg", List.of("x"), "a"))
                .addNode(TestRuntime.gate(1, List.of("a", "x"), List.of("y", "x1")))
                .addNode(TestModels.node("Add", List.of("y", "x1"), "z"))
                .addOutput(TestModels.batch("y", 2))
                .addOutput(TestModels.batch("z", 2))
                .addOutput(TestModels.batch("x1", 2)));
    try (OrtSession session = runtime.open(model)) {
      List<float[]> result = runtime.run(session, Shape.of(2, 2), 1, 2, 3, 4);
      assertArrayEquals(new float[] {-1, -2, -3, -4}, result.get(0));
      assertArrayEquals(new float[] {0, 0, 0, 0}, result.get(1));
      assertArrayEquals(new float[] {1, 2, 3, 4}, result.get(2));
    }
  }

  /**
   * Two counts of non-zeros, unknown until they are counted, each behind a gate of its own. Taken
   * for equal, the second one's negation would get the memory of the first one's.
   */
  @Test
  void gate_unknownDimensions_areNotTakenForEqual() {
    GraphProto.Builder graph = GraphProto.newBuilder().addInput(TestModels.batch("x", 8));
    graph.addNode(TestModels.node("Relu", List.of("x"), "positive"));
    String source = "positive";
    for (int i = 1; i <= 2; i++) {
      graph.addNode(TestModels.node("NonZero", List.of(source), "found" + i));
      graph.addNode(
          TestModels.node("Cast", List.of("found" + i), "f" + i)
              .addAttribute(
                  ai.onnx.proto.OnnxMl.AttributeProto.newBuilder()
                      .setName("to")
                      .setType(ai.onnx.proto.OnnxMl.AttributeProto.AttributeType.INT)
                      .setI(1)));
      graph.addNode(TestRuntime.gate(i, List.of("f" + i), List.of("g" + i)));
      graph.addNode(TestModels.node("Neg", List.of("g" + i), "n" + i));
      graph.addNode(TestModels.node("ReduceSum", List.of("n" + i), "s" + i));
      graph.addNode(TestModels.node("ReduceSum", List.of("g" + i), "t" + i));
      source = i == 1 ? "both" : source;
      if (i == 1) {
        // The second count depends on the first one's sum, so it cannot begin before.
        graph.addNode(TestModels.node("Add", List.of("s1", "t1"), "zero"));
        graph.addNode(TestModels.node("Add", List.of("x", "zero"), "both"));
      }
    }
    graph.addNode(TestModels.node("Sub", List.of("t2", "s2"), "twice"));
    graph.addNode(TestModels.node("Add", List.of("twice", "t1"), "y"));
    graph.addOutput(TestModels.value("y", TensorType.FP32, 1, 1));
    try (OrtSession session = runtime.open(TestRuntime.gatedModel(graph))) {
      // One positive number in place 0; all but one are not zero: 0+1+2+3+4+5+6 = 21.
      float[] result =
          runtime.run(session, Shape.of(1, 8), 5, -1, -1, -1, -1, -1, -1, 0).getFirst();
      assertArrayEquals(new float[] {42}, result);
    }
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BYTES")
  void gate_everyTypeAndShape_passesUnchanged(TensorType type) {
    for (Shape shape : List.of(Shape.SCALAR, Shape.of(0), Shape.of(3, 0, 2), Shape.of(2, 3))) {
      ModelProto model =
          TestRuntime.gatedModel(
              GraphProto.newBuilder()
                  .addInput(TestModels.value("x", type, shape.toArray()))
                  .addNode(TestRuntime.gate(1, List.of("x"), List.of("x1")))
                  .addValueInfo(TestModels.value("x1", type, shape.toArray()))
                  .addNode(TestModels.node("Identity", List.of("x1"), "y"))
                  .addOutput(TestModels.value("y", type, shape.toArray())));
      try (OrtSession session = runtime.open(model);
          Arena arena = Arena.ofConfined()) {
        MemorySegment data = Tensors.random(arena, shape.elements() * type.byteWidth(), 1);
        assertEquals(-1, data.mismatch(Tensors.through(runtime, session, data, type, shape)));
      }
    }
  }
}
