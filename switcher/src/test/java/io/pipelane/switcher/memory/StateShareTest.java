package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.execution.Reservations;
import org.junit.jupiter.api.Test;

class StateShareTest {
  private long free = 9;
  private final StateShare share = new StateShare(9);
  private final Reservations states = share.of(new Working());

  private final class Working implements Reservations {
    @Override
    public boolean tryReservePersistent(long bytes) {
      boolean fits = bytes <= free;
      free -= fits ? bytes : 0;
      return fits;
    }

    @Override
    public void releasePersistent(long bytes) {
      free += bytes;
    }
  }

  @Test
  void aThird_staysForRuns() {
    assertTrue(states.tryReservePersistent(4));
    assertFalse(states.tryReservePersistent(3));
    assertTrue(states.tryReservePersistent(2));
    assertEquals(3, free);
    states.releasePersistent(4);
    assertTrue(states.tryReservePersistent(4));
  }

  @Test
  void stateThatIsAlone_hasWhatThereIs() {
    assertFalse(states.tryReservePersistent(10));
    assertTrue(states.tryReservePersistent(9));
    assertFalse(states.tryReservePersistent(1));
    assertEquals(9, share.heldBytes());
  }

  @Test
  void whatIsNotFree_isNotCounted() {
    free = 1;
    assertFalse(states.tryReservePersistent(2));
    assertEquals(0, share.heldBytes());
  }
}
