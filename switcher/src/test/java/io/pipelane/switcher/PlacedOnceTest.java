package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class PlacedOnceTest {
  private final List<String> asked = new ArrayList<>();
  private final PlacedOnce places = new PlacedOnce(new Placing());

  private final class Placing implements ResultHandler {
    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      asked.add(name);
      return Arena.ofAuto().allocate(byteSize);
    }

    @Override
    public void completed(InferenceTimings timings) {
      asked.add("completed");
    }

    @Override
    public void failed(StatusException error) {
      asked.add("failed");
    }
  }

  private MemorySegment place(String name, long length) {
    return places.place(name, TensorType.INT8, Shape.of(length), length);
  }

  @Test
  void place_aRunIsDoneOnceMore_isWhereItWas() {
    MemorySegment first = place("y", 8);
    MemorySegment second = place("z", 8);
    assertSame(first, place("y", 8));
    assertSame(second, place("z", 8));
    places.failed(new StatusException(Status.UNAVAILABLE, "no"));
    assertEquals(List.of("y", "z", "failed"), asked);
  }

  @Test
  void place_ofAnotherShape_isRefused() {
    place("y", 8);
    StatusException error = assertThrows(StatusException.class, () -> place("y", 9));
    assertEquals(Status.INTERNAL, error.status());
    assertEquals(List.of("y"), asked);
  }
}
