package io.pipelane.lanes.cpu;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.modelstore.MemorySource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Weights in files whose page tables the system moves one part at a time, or not at all. */
final class RefusedMovesTest {
  /**
   * Moves so much at once, as where mappings of a file do not become one again. What lay at the
   * addresses is gone where more is asked for, as the system does that first.
   */
  private static final class Moves implements TableMoves {
    private final boolean known;
    private volatile long most;
    private volatile boolean mapsNoneAgain;
    private volatile boolean unmapsFirst = true;

    Moves(long most, boolean known) {
      this.most = most;
      this.known = known;
    }

    @Override
    public boolean moveAt(long address, long bytes, long shared) {
      if (bytes > most) {
        if (unmapsFirst) {
          LibC.munmap(address, bytes);
        }
        throw new StatusException(Status.INTERNAL, "mremap failed: EFAULT");
      }
      return SYSTEM.moveAt(address, bytes, shared);
    }

    @Override
    public boolean canMove(long shared, long bytes) {
      return known ? bytes <= most : SYSTEM.canMove(shared, bytes);
    }

    @Override
    public void mapSameAt(long address, long bytes, long shared) {
      if (mapsNoneAgain) {
        throw new StatusException(Status.INSUFFICIENT_MEMORY, "mremap failed: ENOMEM");
      }
      SYSTEM.mapSameAt(address, bytes, shared);
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

    private void refuse() {
      ((Moves) moves).most = 0;
    }

    @Test
    void pagesThatAreShown_leaveAndHoldOtherWeights() throws IOException {
      byte[] content = write("weights", 3);
      MemorySource source = map("weights", arena);
      AddressRange range = shown(source, content);

      refuse();
      unmapPages(device, range);

      copyTwice(range, source, content);
      assertEquals(0, device.shownPages());
    }

    @Test
    void partsThatWereLeft_giveWayToOtherWeights() throws IOException {
      byte[] content = write("weights", 10);
      AddressRange range = shown(map("weights", arena), content);
      unmapPages(device, range);
      assertEquals(PAGES, device.leftParts());

      refuse();

      copyOtherTwice(range);
      assertEquals(0, device.leftParts());
    }

    @Test
    void partsThatWereLeft_giveWayToASession() throws IOException {
      byte[] content = write("weights", 11);
      AddressRange range = shown(map("weights", arena), content);
      unmapPages(device, range);

      refuse();
      try (SessionRanges.Scratch _ = device.sessionRanges().scratch(range.address())) {
        assertEquals(0, device.leftParts());
        range.memory().fill((byte) 9);
      }

      copyOtherTwice(range);
    }

    @Test
    void pagesThatAreMountedElsewhere_getMemoryOfTheirOwn() throws IOException {
      byte[] content = write("weights", 4);
      AddressRange range = shown(map("weights", arena), content);
      AddressRange other = device.reserve(BYTES);

      refuse();
      for (int slot = 0; slot < PAGES; slot++) {
        other.map(slot, range.unmap(slot));
      }
      other.settled(PAGES).await();

      assertEquals(0, device.shownPages());
      assertMappedAndThere(content, other);
      unmapPages(device, other);
      copyOtherTwice(other);
    }

    @Test
    void pagesThatAnotherJoins_getMemoryOfTheirOwnForBoth() throws IOException {
      byte[] content = write("weights", 5);
      AddressRange range = device.reserve(BYTES);
      MemorySource source = map("weights", arena);
      makeReady(range, source, content);
      AddressRange other = device.reserve(BYTES);
      List<Page> pages = new ArrayList<>();
      for (int slot = 0; slot < PAGES; slot++) {
        pages.add(device.pages().take().orElseThrow());
        range.map(slot, pages.get(slot));
      }
      device.copies().copy(source, 0, range, 0, BYTES).await();
      assertEquals(PAGES, device.shownPages());

      refuse();
      for (int slot = 0; slot < PAGES; slot++) {
        other.map(slot, pages.get(slot));
      }
      other.settled(PAGES).await();

      assertEquals(0, device.shownPages());
      assertMappedAndThere(content, other);
      assertMappedAndThere(content, range);
      for (int slot = 0; slot < PAGES; slot++) {
        other.unmap(slot);
      }
      unmapPages(device, range);
      copyOtherTwice(other);
    }

    @Test
    void pagesUnderScratchMemory_getMemoryOfTheirOwn() throws IOException {
      byte[] content = write("weights", 6);
      AddressRange range = shown(map("weights", arena), content);

      try (SessionRanges.Scratch _ = device.sessionRanges().scratch(range.address())) {
        range.memory().fill((byte) 9);
        refuse();
      }

      assertEquals(0, device.shownPages());
      assertMappedAndThere(content, range);
      unmapPages(device, range);
      copyOtherTwice(range);
    }

    @Test
    void partThatDoesNotComeBack_isMappedAtItsPlaceAllTheSame() throws IOException {
      byte[] content = write("weights", 7);
      try (StandingFile file = new StandingFile(memory("weights"), PAGE, moves);
          Reservation slot = Reservation.of(PAGE, PAGE)) {
        file.write(1);
        file.showAt(slot.address(), 1, 1);

        refuse();
        file.hideAt(slot.address(), 1);

        assertIsThere(content, file, 1);
        assertFalse(file.lacks(1), "all is copied from now on");
      }
    }

    @Test
    void partThatCannotBeMappedAgain_isThereStillOrKnownToBeLost() throws IOException {
      byte[] content = write("weights", 12);
      for (boolean isLost : new boolean[] {false, true}) {
        try (StandingFile file = new StandingFile(memory("weights"), PAGE, moves);
            Reservation slot = Reservation.of(PAGE, PAGE)) {
          file.write(1);
          file.showAt(slot.address(), 1, 1);

          refuse();
          ((Moves) moves).unmapsFirst = isLost;
          ((Moves) moves).mapsNoneAgain = true;
          file.hideAt(slot.address(), 1);

          assertIsThere(content, file, 0);
          if (isLost) {
            assertThrows(StatusException.class, () -> file.read(1, 0, PAGE));
          } else {
            assertIsThere(content, file, 1);
          }
          ((Moves) moves).mapsNoneAgain = false;
          ((Moves) moves).most = Long.MAX_VALUE;
        }
      }
    }

    @Test
    void trialThatIsRefused_leavesTheFileMapped() throws IOException {
      byte[] content = write("weights", 8);
      for (int most : new int[] {0, 1}) { // How many moves come off.
        AtomicInteger left = new AtomicInteger(most);
        TableMoves few =
            new TableMoves() {
              @Override
              public boolean moveAt(long address, long bytes, long shared) {
                if (left.getAndDecrement() == 0) {
                  refuse();
                }
                return moves.moveAt(address, bytes, shared);
              }

              @Override
              public boolean canMove(long shared, long bytes) {
                return moves.canMove(shared, bytes);
              }

              @Override
              public void mapSameAt(long address, long bytes, long shared) {
                moves.mapSameAt(address, bytes, shared);
              }
            };
        try (StandingFile file = new StandingFile(memory("weights"), PAGE, few)) {
          file.write(0);

          assertIsThere(content, file, 0);
          assertEquals(0, file.writtenBytesFrom(0), "it is copied from now on");
        }
        ((Moves) moves).most = Long.MAX_VALUE;
      }
    }

    private MemorySegment memory(String name) throws IOException {
      return map(name, arena).memory().orElseThrow();
    }

    private void assertIsThere(byte[] content, StandingFile file, int part) {
      MemorySegment there = file.read(part, 0, PAGE);
      assertTrue(LibC.isInMemory(there.address(), PAGE));
      byte[] expected = Arrays.copyOfRange(content, part * PAGE, (part + 1) * PAGE);
      assertArrayEquals(expected, there.toArray(JAVA_BYTE));
    }
  }

  @Nested
  final class NoneOfThePagesOwnFromSomeTimeOn extends ShownWeightsFixture {
    NoneOfThePagesOwnFromSomeTimeOn() {
      super(TableMoves.SYSTEM, new Moves(Long.MAX_VALUE, true));
    }

    @Test
    void pagesUnderTwoRanges_areSeenInBothOnceTheyHaveMemoryOfTheirOwn() throws IOException {
      byte[] content = write("weights", 13);
      AddressRange range = device.reserve(BYTES);
      AddressRange other = device.reserve(BYTES);
      MemorySource source = map("weights", arena);
      makeReady(range, source, content);
      List<Page> pages = new ArrayList<>();
      for (int slot = 0; slot < PAGES; slot++) {
        pages.add(device.pages().take().orElseThrow());
        range.map(slot, pages.get(slot));
      }
      device.copies().copy(source, 0, range, 0, BYTES).await();
      for (int slot = 0; slot < PAGES; slot++) {
        other.map(slot, pages.get(slot));
      }
      other.settled(PAGES).await();

      ((Moves) pagesMoves).most = 0;
      pages.forEach(page -> device.own(page).orElseThrow().await());

      assertEquals(0, device.shownPages());
      assertMappedAndThere(content, range);
      assertMappedAndThere(content, other);
      for (int slot = 0; slot < PAGES; slot++) {
        other.unmap(slot);
      }
      unmapPages(device, range);
      copyOtherTwice(other);
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
