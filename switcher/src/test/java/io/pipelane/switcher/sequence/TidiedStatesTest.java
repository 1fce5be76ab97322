package io.pipelane.switcher.sequence;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import org.junit.jupiter.api.Test;

class TidiedStatesTest {
  private static final long ROOM = 100;

  private final KeptStates device = new KeptStates();
  private final TidiedStates states = new TidiedStates(device, device::tidy);

  /** Memory of which another process keeps what has been given back, until it is asked. */
  private static final class KeptStates implements DeviceStates {
    private long room = ROOM;
    private long kept;
    private int timesTidied;
    private Status refusal = Status.INSUFFICIENT_MEMORY;

    void tidy() {
      room += kept;
      kept = 0;
      timesTidied++;
    }

    @Override
    public State take(long bytes) {
      if (bytes > room) {
        throw new StatusException(refusal, "no " + bytes + " bytes, there are " + room);
      }
      room -= bytes;
      return new HostState(bytes) {
        @Override
        public void close() {
          super.close();
          kept += bytes;
        }
      };
    }
  }

  @Test
  void take_whatAnotherProcessKeeps_isThereOnceItHasLetGo() {
    states.take(ROOM).close();
    states.take(ROOM).close();
    assertEquals(1, device.timesTidied);
  }

  @Test
  void take_thereIsRoom_nobodyIsAsked() {
    states.take(ROOM / 2).close();
    states.take(ROOM / 2).close();
    assertEquals(0, device.timesTidied);
  }

  @Test
  void take_moreThanThereIs_isRefusedAllTheSame() {
    StatusException error = assertThrows(StatusException.class, () -> states.take(ROOM + 1));
    assertEquals(Status.INSUFFICIENT_MEMORY, error.status());
    assertEquals(1, device.timesTidied);
  }

  @Test
  void take_deviceFails_nobodyIsAsked() {
    device.refusal = Status.DEVICE_FAILURE;
    assertThrows(StatusException.class, () -> states.take(ROOM + 1));
    assertEquals(0, device.timesTidied);
  }
}
