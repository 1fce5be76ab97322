package io.pipelane.lanes.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.AddressRange;
import io.pipelane.modelstore.MemorySource;
import java.io.IOException;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Weights in files whose page tables the system moves one part at a time, or not at all. */
final class RefusedMovesTest {
  /** Moves so much at once, as where mappings of a file do not become one again. */
  private static final class Moves implements TableMoves {
    private final boolean known;
    private volatile long most;

    Moves(long most, boolean known) {
      this.most = most;
      this.known = known;
    }

    @Override
    public boolean moveAt(long address, long bytes, long shared) {
      if (bytes > most) {
        throw new StatusException(Status.INTERNAL, "mremap failed: EFAULT");
      }
      return SYSTEM.moveAt(address, bytes, shared);
    }

    @Override
    public boolean canMove(long shared, long bytes) {
      return known ? bytes <= most : SYSTEM.canMove(shared, bytes);
    }
  }

  @Nested
  final class OnePartAtATime extends ShownWeightsFixture {
    OnePartAtATime() {
      super(new Moves(PAGE, true));
    }

    @Test
    void fileThatIsShown_isMovedInParts() throws IOException {
      byte[] content = write("weights", 1);
      MemorySource source = map("weights", arena);
      AddressRange range = device.reserve(BYTES);
      makeReady(range, source, content);

      for (int i = 0; i < 3; i++) {
        mapPages(device, range);
        assertEquals(BYTES, device.copies().show(source, 0, range, 0, BYTES));
        assertContent(content, range);
        unmapPages(device, range);
      }
    }
  }

  @Nested
  final class NotSoManyAsSeemed extends ShownWeightsFixture {
    NotSoManyAsSeemed() {
      super(new Moves(PAGE, false));
    }

    @Test
    void fileThatCannotBeShown_isCopiedFromThenOn() throws IOException {
      byte[] content = write("weights", 2);
      MemorySource source = map("weights", arena);
      AddressRange range = device.reserve(BYTES);
      makeReady(range, source, content);

      mapPages(device, range);
      assertEquals(0, device.copies().show(source, 0, range, 0, BYTES));
      assertEquals(0, device.shownPages());
      device.copies().copy(source, 0, range, 0, BYTES).await();
      assertContent(content, range);
      unmapPages(device, range);

      copyTwice(range, source, content);
      assertEquals(0, device.copies().atHand(source, 0, BYTES));
      assertEquals(0, device.shownPages());
    }
  }

  @Nested
  final class NoneFromSomeTimeOn extends ShownWeightsFixture {
    NoneFromSomeTimeOn() {
      super(new Moves(Long.MAX_VALUE, true));
    }

    @Test
    void pagesThatAreShown_leaveAndHoldOtherWeights() throws IOException {
      byte[] content = write("weights", 3);
      MemorySource source = map("weights", arena);
      AddressRange range = device.reserve(BYTES);
      makeReady(range, source, content);
      bringIn(range, source);
      assertEquals(PAGES, device.shownPages());

      ((Moves) moves).most = 0;
      unmapPages(device, range);

      copyTwice(range, source, content);
      assertEquals(0, device.shownPages());
    }
  }

  @Test
  void tablesOfSeveralMappings_areNotMovedAsOne() {
    try (Reservation two = Reservation.of(2 * LibC.SYSTEM_PAGE_BYTES, LibC.SYSTEM_PAGE_BYTES)) {
      int file = LibC.memfdCreate("test");
      try {
        LibC.ftruncate(file, 2 * LibC.SYSTEM_PAGE_BYTES);
        LibC.mapFileAt(two.address(), 2 * LibC.SYSTEM_PAGE_BYTES, file, 0, false);
        assertTrue(LibC.canMoveTables(two.address(), 2 * LibC.SYSTEM_PAGE_BYTES));
        LibC.mapFileAt(two.address(), LibC.SYSTEM_PAGE_BYTES, file, LibC.SYSTEM_PAGE_BYTES, false);
        assertFalse(LibC.canMoveTables(two.address(), 2 * LibC.SYSTEM_PAGE_BYTES));
      } finally {
        LibC.close(file);
      }
    }
  }
}
