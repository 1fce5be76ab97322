package io.pipelane.lanes.cpu.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.execution.CpuSessionFixture;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.runtime.IoBinding;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.SessionSettings;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class OutputPlacesTest extends CpuSessionFixture {
  @Test
  void give_formsThatAreKnown_runWritesToThePlaces() throws IOException {
    Path file = TestModels.write(OutputShapeModels.negative(), folder.resolve("model.onnx"));
    FloatInvocation wanted = new FloatInvocation(new float[] {1, 2}, Shape.of(2));
    List<OrtTensor.Form> forms = List.of(new OrtTensor.Form(TensorType.FP32, Shape.of(2)));
    try (Arena arena = Arena.ofConfined();
        OrtEnvironment environment = OrtEnvironment.open(LIBRARY, memory);
        OrtSession session = environment.open(file, SessionSettings.onDevice(1));
        IoBinding binding = session.newBinding()) {
      MemorySegment x = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2);
      MemorySegment place = arena.allocate(8, 64);
      binding.input("x", x.address(), 8, TensorType.FP32, Shape.of(2));
      OutputPlaces places = new OutputPlaces(binding, new AtomicBoolean());
      assertFalse(places.areKnown(wanted.outputs()));
      places.learn(wanted.outputs(), forms);
      for (int run = 1; run < 4; run++) {
        x.setAtIndex(ValueLayout.JAVA_FLOAT, 0, run);

        assertTrue(places.areKnown(wanted.outputs()));
        assertTrue(places.give(_ -> place.address()));
        binding.run(_ -> {});
        places.take(wanted);

        assertArrayEquals(new float[] {-run, -2}, place.toArray(ValueLayout.JAVA_FLOAT));
        assertArrayEquals(new float[] {-run, -2}, wanted.output());
      }
    }
  }

  @Test
  void areKnown_refusedByABinding_neverAgainInAnyOther() throws IOException {
    Path file = TestModels.write(OutputShapeModels.negative(), folder.resolve("model.onnx"));
    List<OrtTensor.Form> forms = List.of(new OrtTensor.Form(TensorType.FP32, Shape.of(2)));
    try (OrtEnvironment environment = OrtEnvironment.open(LIBRARY, memory);
        OrtSession session = environment.open(file, SessionSettings.onDevice(1));
        IoBinding binding = session.newBinding();
        IoBinding other = session.newBinding()) {
      AtomicBoolean areRefused = new AtomicBoolean();
      OutputPlaces places = new OutputPlaces(binding, areRefused);
      OutputPlaces others = new OutputPlaces(other, areRefused);
      others.learn(List.of("y"), forms);
      places.learn(List.of("y"), forms);
      assertFalse(places.areKnown(List.of("z")));
      assertTrue(places.areKnown(List.of("y")));

      places.refuse();
      places.learn(List.of("y"), forms);

      assertFalse(places.areKnown(List.of("y")));
      assertFalse(others.areKnown(List.of("y")));
      others.learn(List.of("y"), forms);
      assertFalse(others.areKnown(List.of("y")));
    }
  }

  @Test
  void learn_stringsOrManyBytes_haveNoPlaces() throws IOException {
    Path file = TestModels.write(OutputShapeModels.negative(), folder.resolve("model.onnx"));
    try (OrtEnvironment environment = OrtEnvironment.open(LIBRARY, memory);
        OrtSession session = environment.open(file, SessionSettings.onDevice(1));
        IoBinding binding = session.newBinding()) {
      OutputPlaces places = new OutputPlaces(binding, new AtomicBoolean());
      Shape small = Shape.of(8, 1024);
      Shape large = Shape.of(8, 1025);

      places.learn(List.of("y"), List.of(new OrtTensor.Form(TensorType.BYTES, small)));
      assertFalse(places.areKnown(List.of("y")));
      places.learn(List.of("y"), List.of(new OrtTensor.Form(TensorType.INT64, large)));
      assertFalse(places.areKnown(List.of("y")));
      OrtTensor.Form tiny = new OrtTensor.Form(TensorType.FP32, Shape.of(1));
      List<String> many = IntStream.range(0, 257).mapToObj(i -> "y" + i).toList();
      places.learn(many, Collections.nCopies(257, tiny)); // Each takes a block of 256 bytes.
      assertFalse(places.areKnown(many));
      places.learn(List.of("y"), List.of(new OrtTensor.Form(TensorType.INT64, small)));
      assertTrue(places.areKnown(List.of("y")));
    }
  }
}
