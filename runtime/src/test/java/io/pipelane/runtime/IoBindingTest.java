package io.pipelane.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.GraphProto;
import io.pipelane.config.StatusException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class IoBindingTest {
  private static final Shape OPEN = Shape.of(-1);

  @TempDir Path folder;
  private TestRuntime runtime;
  private final Arena arena = Arena.ofConfined();

  @BeforeEach
  void open() {
    runtime = new TestRuntime(folder);
  }

  @AfterEach
  void nothingIsLeft() {
    assertEquals(0, runtime.device.live());
    runtime.close();
    arena.close();
  }

  private OrtSession identity() {
    return runtime.open(
        TestModels.model(
            GraphProto.newBuilder()
                .addInput(TestModels.value("x", TensorType.FP32, OPEN.toArray()))
                .addNode(TestModels.node("Identity", List.of("x"), "y"))
                .addOutput(TestModels.value("y", TensorType.FP32, OPEN.toArray()))));
  }

  private static float[] run(IoBinding binding) {
    binding.output("y");
    binding.run(_ -> {});
    try (OrtTensor output = binding.outputs().getFirst()) {
      return output.data(output.form()).toArray(ValueLayout.JAVA_FLOAT);
    } finally {
      binding.clearOutputs();
    }
  }

  private static void bind(IoBinding binding, MemorySegment memory, int elements) {
    binding.input("x", memory.address(), 4L * elements, TensorType.FP32, Shape.of(elements));
  }

  private MemorySegment floats(float... values) {
    return arena.allocateFrom(ValueLayout.JAVA_FLOAT, values);
  }

  @Test
  void input_sameMemoryWithOtherContent_isReadAnew() {
    MemorySegment memory = floats(1, 2);
    try (OrtSession session = identity();
        IoBinding binding = session.newBinding()) {
      bind(binding, memory, 2);
      assertArrayEquals(new float[] {1, 2}, run(binding));

      memory.setAtIndex(ValueLayout.JAVA_FLOAT, 1, 3);
      bind(binding, memory, 2);

      assertArrayEquals(new float[] {1, 3}, run(binding));
    }
  }

  @Test
  void input_otherShapeOrMemory_isBoundAnew() {
    try (OrtSession session = identity();
        IoBinding binding = session.newBinding()) {
      MemorySegment memory = floats(1, 2);
      bind(binding, memory, 2);
      assertArrayEquals(new float[] {1, 2}, run(binding));

      bind(binding, memory, 1);
      assertArrayEquals(new float[] {1}, run(binding));

      bind(binding, floats(7), 1);
      assertArrayEquals(new float[] {7}, run(binding));
    }
  }

  @Test
  void input_memoryAfterATensor_isBoundAnew() {
    MemorySegment memory = floats(1);
    MemorySegment other = floats(5);
    try (OrtSession session = identity();
        IoBinding binding = session.newBinding()) {
      bind(binding, memory, 1);
      try (OrtTensor tensor =
          OrtTensor.over(runtime.environment, other.address(), 4, TensorType.FP32, Shape.of(1))) {
        binding.input("x", tensor);
      }
      assertArrayEquals(new float[] {5}, run(binding));

      bind(binding, memory, 1);

      assertArrayEquals(new float[] {1}, run(binding));
    }
  }

  private static void wantIn(IoBinding binding, MemorySegment memory, int elements) {
    binding.output("y", memory.address(), 4L * elements, TensorType.FP32, Shape.of(elements));
  }

  @Test
  void output_memory_isWrittenUntilAnotherIsWanted() {
    MemorySegment input = floats(1, 2);
    MemorySegment place = floats(0, 0);
    MemorySegment other = floats(0, 0);
    try (OrtSession session = identity();
        IoBinding binding = session.newBinding()) {
      bind(binding, input, 2);
      for (float value = 3; value < 5; value++) {
        input.setAtIndex(ValueLayout.JAVA_FLOAT, 0, value);
        wantIn(binding, place, 2);
        binding.run(_ -> {});
        assertArrayEquals(new float[] {value, 2}, place.toArray(ValueLayout.JAVA_FLOAT));
      }

      input.setAtIndex(ValueLayout.JAVA_FLOAT, 0, 7);
      wantIn(binding, other, 2);
      binding.run(_ -> {});

      assertArrayEquals(new float[] {7, 2}, other.toArray(ValueLayout.JAVA_FLOAT));
      assertArrayEquals(new float[] {4, 2}, place.toArray(ValueLayout.JAVA_FLOAT));
      assertArrayEquals(new float[] {7, 2}, run(binding)); // In memory of its own again.
      wantIn(binding, place, 2);
      binding.run(_ -> {});
      assertArrayEquals(new float[] {7, 2}, place.toArray(ValueLayout.JAVA_FLOAT));
    }
  }

  @Test
  void output_memoryForAnotherShape_failsAndWritesNothing() {
    MemorySegment place = floats(0, 0, 0);
    try (OrtSession session = identity();
        IoBinding binding = session.newBinding()) {
      bind(binding, floats(1, 2), 2);
      wantIn(binding, place, 3);

      StatusException failure = assertThrows(StatusException.class, () -> binding.run(_ -> {}));

      assertTrue(IoBinding.isOfAnotherShape(failure), failure::toString);
      assertArrayEquals(new float[] {0, 0, 0}, place.toArray(ValueLayout.JAVA_FLOAT));
      binding.clearOutputs();
      assertArrayEquals(new float[] {1, 2}, run(binding));
    }
  }

  @Test
  void isOfAnotherShape_longNames_isSeenAllTheSame() {
    String name = "n".repeat(100_000);
    try (OrtSession session =
            runtime.open(
                TestModels.model(
                    GraphProto.newBuilder()
                        .addInput(TestModels.value("x", TensorType.FP32, OPEN.toArray()))
                        .addNode(TestModels.node("Identity", List.of("x"), name))
                        .addOutput(TestModels.value(name, TensorType.FP32, OPEN.toArray()))));
        IoBinding binding = session.newBinding()) {
      bind(binding, floats(1, 2), 2);
      binding.output(name, floats(0, 0, 0).address(), 12, TensorType.FP32, Shape.of(3));

      StatusException failure = assertThrows(StatusException.class, () -> binding.run(_ -> {}));

      assertTrue(IoBinding.isOfAnotherShape(failure), failure::toString);
    }
  }

  @Test
  void isOfAnotherShape_inputOfAnotherRank_isFalse() {
    MemorySegment input = floats(1, 2);
    try (OrtSession session = identity();
        IoBinding binding = session.newBinding()) {
      binding.input("x", input.address(), 8, TensorType.FP32, Shape.of(1, 2));
      wantIn(binding, floats(0, 0), 2);

      StatusException failure = assertThrows(StatusException.class, () -> binding.run(_ -> {}));

      assertFalse(IoBinding.isOfAnotherShape(failure), failure::toString);
    }
  }
}
