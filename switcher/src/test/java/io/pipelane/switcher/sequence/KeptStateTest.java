package io.pipelane.switcher.sequence;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.execution.Reservations;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A state of two tensors, of which two copies each are kept. */
class KeptStateTest {
  private static final long TENSOR = 4L * Float.BYTES;

  /** Room for so many copies. */
  private static final class Room implements Reservations {
    private long freeBytes;

    Room(int copies) {
      freeBytes = copies * TENSOR;
    }

    @Override
    public boolean tryReservePersistent(long bytes) {
      boolean fits = bytes <= freeBytes;
      freeBytes -= fits ? bytes : 0;
      return fits;
    }

    @Override
    public void releasePersistent(long bytes) {
      freeBytes += bytes;
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void whatHasNoRoom_isAskedForWithAllThatTheStateLacks(int fitting) {
    Room room = new Room(fitting);
    List<Long> askedFor = new ArrayList<>();
    StateMemory memory =
        new StateMemory(
            DeviceStates.ON_HOST, room, new HostStates(0), _ -> false, _ -> false, askedFor::add);
    TensorSpec one = new TensorSpec("one", TensorType.FP32, Shape.of(4));
    TensorSpec other = new TensorSpec("other", TensorType.FP32, Shape.of(4));
    StatePairs pairs = new StatePairs(List.of(one, other), Map.of("next", one, "after", other));
    assertThrows(StatusException.class, () -> new KeptState(memory, pairs, 1));
    assertEquals(List.of(4 * TENSOR), askedFor);
    assertEquals(fitting * TENSOR, room.freeBytes);
  }
}
