package io.pipelane.switcher.sequence;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.StateInput;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class KeptInputTest {
  /** As PyTorch's exporter names them where it is told their axes alone. */
  @Test
  void of_recurrentStateWithNamesOfItsOwn_isToBeSaid() {
    TensorSpec x = spec("x", Shape.of(-1, 8), "x_dynamic_axes_1", "");
    TensorSpec before = spec("h", Shape.of(2, -1, 64), "", "h_dynamic_axes_1", "");
    TensorSpec after = spec("hn", Shape.of(2, -1, 64), "", "hn_dynamic_axes_1", "");
    StatusException refusal =
        assertThrows(
            StatusException.class, () -> KeptInput.of(before, after, List.of(), Optional.of(x)));
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains("begins: [2, rows, 64]"), message);
    List<Long> said = List.of(2L, StateInput.ROWS, 64L);
    assertEquals(Shape.of(2, 3, 64), KeptInput.of(before, after, said, Optional.of(x)).begins(3));
  }

  /** As exporters leave outputs that nobody names the axes of: with the numbers of an example. */
  @Test
  void of_rowsThatNoNameTellsAndTheOutputHasANumberFor_areToBeSaid() {
    TensorSpec x = spec("x", Shape.of(-1, 8), "batch", "");
    TensorSpec before = spec("h", Shape.of(2, -1, 64), "", "batch", "");
    TensorSpec nameless = spec("h", Shape.of(2, -1, 64), "", "", "");
    TensorSpec after = spec("hn", Shape.of(2, 1, 64), "", "", "");
    StatusException refusal =
        assertThrows(
            StatusException.class, () -> KeptInput.of(nameless, after, List.of(), Optional.of(x)));
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains("output \"hn\" [2,1,64]"), message);
    assertTrue(message.contains("begins: [2, 1, 64]"), message);
    List<Long> said = List.of(2L, StateInput.ROWS, 64L);
    assertEquals(Shape.of(2, 3, 64), KeptInput.of(nameless, after, said, Optional.of(x)).begins(3));
    assertEquals(
        Shape.of(2, 3, 64),
        KeptInput.of(before, after, List.of(), Optional.of(x)).begins(3),
        "its name tells");
  }

  private static TensorSpec spec(String name, Shape shape, String... dimensions) {
    return new TensorSpec(name, TensorType.FP32, shape, List.of(dimensions));
  }
}
