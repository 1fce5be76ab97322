package io.pipelane.runtime;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TensorTypesTest {
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

  private static ModelProto identity(TensorType type, long... dimensions) {
    return TestModels.model(
        GraphProto.newBuilder()
            .addInput(TestModels.value("x", type, dimensions))
            .addNode(TestModels.node("Identity", List.of("x"), "y"))
            .addOutput(TestModels.value("y", type, dimensions)));
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BYTES")
  void identity_ofEveryTypeAndShape_answersItsInput(TensorType type) {
    for (Shape shape : List.of(Shape.SCALAR, Shape.of(0), Shape.of(3, 0, 2), Shape.of(2, 3))) {
      try (OrtSession session = runtime.open(identity(type, shape.toArray()));
          Arena arena = Arena.ofConfined()) {
        assertEquals(new TensorSpec("x", type, shape), session.inputs().getFirst());
        assertEquals(new TensorSpec("y", type, shape), session.outputs().getFirst());
        MemorySegment data = Tensors.random(arena, shape.elements() * type.byteWidth(), 2);
        assertEquals(-1, data.mismatch(Tensors.through(runtime, session, data, type, shape)));
      }
    }
  }

  @Test
  void openDimensions_areReportedAsOpen() {
    try (OrtSession session = runtime.open(identity(TensorType.FP32, -1, 3))) {
      assertEquals(Shape.of(-1, 3), session.inputs().getFirst().shape());
    }
  }

  @Test
  void strings_bothWays_areEqual() {
    assertEqualAfterRun(Shape.of(2, 3), "", "a", "Zürich", "日本語", "😀", "x".repeat(10_000));
    assertEqualAfterRun(Shape.of(3), "", "", "");
    assertEqualAfterRun(Shape.SCALAR, "alone");
    assertEqualAfterRun(Shape.of(0));
    assertEqualAfterRun(Shape.of(2, 0));
    assertEqualAfterRun(Shape.of(3), "zero \0 inside", "\0", "end\0");
  }

  private void assertEqualAfterRun(Shape shape, String... strings) {
    long[] open = shape.toArray();
    try (OrtSession session = runtime.open(identity(TensorType.BYTES, open));
        IoBinding binding = session.newBinding();
        Arena arena = Arena.ofConfined()) {
      MemorySegment encoded = encode(arena, strings);
      try (OrtTensor tensor = StringTensors.decode(runtime.environment, encoded, shape)) {
        binding.input("x", tensor);
      }
      binding.output("y");
      binding.run(gate -> {});
      try (OrtTensor output = binding.outputs().getFirst()) {
        assertEquals(shape, output.shape());
        assertEquals(encoded.byteSize(), StringTensors.encodedSize(output));
        MemorySegment result = arena.allocate(encoded.byteSize());
        StringTensors.encode(output, result);
        assertEquals(-1, encoded.mismatch(result));
      }
    }
  }

  @Test
  void decode_lengthLeavesTheBytes_isRefused() {
    try (Arena arena = Arena.ofConfined()) {
      for (int length : new int[] {3, Integer.MAX_VALUE, -1}) {
        MemorySegment encoded = encode(arena, "ab");
        encoded.set(ValueLayout.JAVA_INT_UNALIGNED, 0, length);
        refused(encoded, Shape.of(1));
      }
      refused(encode(arena, "ab"), Shape.of(2));
    }
  }

  private void refused(MemorySegment encoded, Shape shape) {
    StatusException error =
        assertThrows(
            StatusException.class,
            () -> StringTensors.decode(runtime.environment, encoded, shape).close());
    assertEquals(Status.INVALID_ARGUMENT, error.status());
  }

  private static MemorySegment encode(Arena arena, String... strings) {
    ByteBuffer bytes = ByteBuffer.allocate(100_000).order(ByteOrder.LITTLE_ENDIAN);
    for (String string : strings) {
      byte[] text = string.getBytes(UTF_8);
      bytes.putInt(text.length).put(text);
    }
    byte[] result = new byte[bytes.position()];
    bytes.flip().get(result);
    MemorySegment encoded = arena.allocate(Math.max(1, result.length)).asSlice(0, result.length);
    return encoded.copyFrom(MemorySegment.ofArray(result));
  }
}
