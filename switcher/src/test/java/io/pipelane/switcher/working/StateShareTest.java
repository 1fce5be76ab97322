package io.pipelane.switcher.working;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.execution.Reservations;
import io.pipelane.switcher.BoundedReservations;
import org.junit.jupiter.api.Test;

class StateShareTest {
  private final BoundedReservations working = new BoundedReservations(9);
  private final StateShare share = new StateShare(9);
  private final Reservations states = share.of(working);

  @Test
  void aThird_staysForRuns() {
    assertTrue(states.tryReservePersistent(4));
    assertFalse(states.tryReservePersistent(3));
    assertTrue(states.tryReservePersistent(2));
    assertEquals(3, working.freeBytes());
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
  void mostThatOneCouldHave_isAllOnlyForWhoHasNothing() {
    assertEquals(9, states.mostBeside(0));
    assertEquals(5, states.mostBeside(1));
    assertTrue(states.tryReservePersistent(6));
    assertEquals(9, states.mostBeside(0));
    states.releasePersistent(6);
  }

  @Test
  void whatStatesGiveBack_isTheirsAgain() {
    assertTrue(states.tryReservePersistent(4));
    assertFalse(share.hasRoomFor(3, 0));
    assertTrue(share.hasRoomFor(3, 1));
    assertFalse(share.hasRoomFor(9, 3));
    assertTrue(share.hasRoomFor(9, 4));
    states.releasePersistent(4);
  }

  @Test
  void whatIsNotFree_isNotCounted() {
    assertTrue(working.tryReservePersistent(8));
    assertFalse(states.tryReservePersistent(2));
    assertEquals(0, share.heldBytes());
  }
}
