package io.pipelane.switcher.schedule.estimate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class RunKeyTest {
  private static RunKey key(Shape... shapes) {
    return RunKey.of(
        new InferenceRequest(
            new ModelVersion("m", 1),
            Stream.of(shapes)
                .map(shape -> new InputTensor("x", TensorType.FP32, shape, MemorySegment.NULL))
                .toList(),
            List.of()));
  }

  @Test
  void rowsAreThoseThatAllInputsHave() {
    assertEquals(3, key(Shape.of(3, 4), Shape.of(3)).rows());
    assertEquals(0, key(Shape.of(3, 4), Shape.of(2)).rows());
    assertEquals(0, key(Shape.of(3, 4), Shape.of()).rows());
    assertEquals(0, key(Shape.of(3, 4), Shape.of(0)).rows());
    assertEquals(0, key(Shape.of(0, 4), Shape.of(3)).rows());
    assertEquals(0, key().rows());
  }
}
