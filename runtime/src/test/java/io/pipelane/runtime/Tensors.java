package io.pipelane.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;

/** Random tensors, and their way through a model with one input {@code x} and one output. */
final class Tensors {
  private Tensors() {}

  /** Random bytes, each 0 or 1, so that they are legal in every type. */
  static MemorySegment random(Arena arena, long bytes, long seed) {
    MemorySegment data = arena.allocate(Math.max(1, bytes), 64).asSlice(0, bytes);
    Random random = new Random(seed);
    for (long i = 0; i < bytes; i++) {
      data.set(ValueLayout.JAVA_BYTE, i, (byte) random.nextInt(2));
    }
    return data;
  }

  /** Runs the model; the output has the input's type and shape. */
  static MemorySegment through(
      TestRuntime runtime, OrtSession session, MemorySegment data, TensorType type, Shape shape) {
    try (IoBinding binding = session.newBinding()) {
      try (OrtTensor tensor =
          OrtTensor.over(runtime.environment, data.address(), data.byteSize(), type, shape)) {
        binding.input("x", tensor);
      }
      binding.output("y");
      binding.run(gate -> {});
      try (OrtTensor output = binding.outputs().getFirst()) {
        assertEquals(type, output.type());
        assertEquals(shape, output.shape());
        return MemorySegment.ofArray(output.data().toArray(ValueLayout.JAVA_BYTE));
      }
    }
  }
}
