package io.pipelane.switcher.sequence;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.BoundedReservations;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A state of two tensors, of which two copies each are kept. */
class KeptStateTest {
  private static final long TENSOR = 4L * Float.BYTES;

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void whatHasNoRoom_isAskedForWithAllThatTheStateLacks(int fitting) {
    BoundedReservations room = new BoundedReservations(fitting * TENSOR);
    List<Long> askedFor = new ArrayList<>();
    StateMemory memory =
        new StateMemory(
            DeviceStates.ON_HOST, room, new HostStates(0), _ -> false, _ -> false, askedFor::add);
    TensorSpec one = new TensorSpec("one", TensorType.FP32, Shape.of(4));
    TensorSpec other = new TensorSpec("other", TensorType.FP32, Shape.of(4));
    StatePairs pairs = new StatePairs(List.of(one, other), Map.of("next", one, "after", other));
    assertThrows(StatusException.class, () -> new KeptState(memory, pairs, 1));
    assertEquals(List.of(4 * TENSOR), askedFor);
    assertEquals(fitting * TENSOR, room.freeBytes());
  }
}
