package io.pipelane.lanes.cuda.execution.tensor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.execution.tensor.InputLayout.Slot;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.Test;

class InputLayoutTest {
  private static InputTensor input(String name, TensorType type, long... dimensions) {
    Shape shape = Shape.of(dimensions);
    return new InputTensor(
        name, type, shape, Arena.ofAuto().allocate(shape.elements() * type.byteWidth()));
  }

  @Test
  void of_anyOrder_isTheSameLayout() {
    InputTensor a = input("a", TensorType.INT64, 3, 5);
    InputTensor b = input("b", TensorType.FP32, 100);
    InputTensor c = input("c", TensorType.BOOL, 1);
    InputLayout layout = InputLayout.of(List.of(a, b, c));
    assertEquals(layout, InputLayout.of(List.of(c, b, a)));
    assertEquals(List.of(new Slot(a, 0), new Slot(b, 256), new Slot(c, 768)), layout.slots());
    assertEquals(769, layout.byteSize());
    assertEquals(InputShapes.of(List.of(a, b, c)), InputShapes.of(List.of(b, c, a)));
    assertNotEquals(InputShapes.of(List.of(a, b)), InputShapes.of(List.of(a, c)));
  }

  @Test
  void of_nothingOrEmptyTensors_hasAnAddressYet() {
    assertEquals(1, InputLayout.of(List.of()).byteSize());
    InputLayout empty =
        InputLayout.of(List.of(input("a", TensorType.FP32, 0, 4), input("b", TensorType.INT8, 2)));
    assertEquals(0, empty.slots().getLast().offset());
    assertEquals(2, empty.byteSize());
  }

  @Test
  void hostBytes_countThoseOfTheHostAlone() {
    InputTensor a = input("a", TensorType.FP32, 100);
    InputTensor b = input("b", TensorType.FP32, 1 << 20);
    InputTensor state = new InputTensor(b.name(), b.type(), b.shape(), b.data(), true);
    InputTensor c = input("c", TensorType.INT8, 1);
    assertEquals(512 + 256, InputLayout.of(List.of(a, state, c)).hostBytes());
    assertEquals(
        InputLayout.of(List.of(a, b, c)).byteSize(),
        InputLayout.of(List.of(a, state, c)).byteSize());
  }

  @Test
  void of_dataOfAnotherSize_isRefused() {
    InputTensor wrong =
        new InputTensor("x", TensorType.FP32, Shape.of(4), Arena.ofAuto().allocate(12));
    StatusException error =
        assertThrows(StatusException.class, () -> InputLayout.of(List.of(wrong)));
    assertEquals(Status.INVALID_ARGUMENT, error.status());
    assertTrue(String.valueOf(error.getMessage()).contains("12 bytes"));
  }
}
