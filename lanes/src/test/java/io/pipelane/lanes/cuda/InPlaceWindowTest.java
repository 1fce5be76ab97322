package io.pipelane.lanes.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.lanes.HeldMemory;
import io.pipelane.lanes.cpu.PublishedSlots;
import io.pipelane.lanes.cpu.SlotTable;
import io.pipelane.modelstore.host.HostMemory.Shared;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class InPlaceWindowTest {
  private static final long BYTES = 100;

  private final InPlaceWindow window = new InPlaceWindow(BYTES, memory -> true, null);

  private static HeldMemory held(int number) {
    MemorySegment memory = Arena.ofAuto().allocate(BYTES);
    return new HeldMemory(memory, Optional.of(new Shared(number, 10 * number)));
  }

  @Test
  void address_isThatOfWhatIsShown() {
    assertThrows(IllegalStateException.class, window::address);
    for (int number = 1; number <= 2; number++) {
      HeldMemory held = held(number);
      window.show(held);
      assertEquals(held.memory().address(), window.address());
    }
    window.hide();
    assertThrows(IllegalStateException.class, window::address);
  }

  @Test
  void show_ofAnotherSizeOrNotPinned_isRefusedAndLeavesWhatWasShown() {
    HeldMemory first = held(1);
    window.show(first);
    HeldMemory longer = new HeldMemory(Arena.ofAuto().allocate(BYTES + 1));
    assertThrows(IllegalArgumentException.class, () -> window.show(longer));
    assertEquals(first.memory().address(), window.address());
    InPlaceWindow strict = new InPlaceWindow(BYTES, memory -> false, null);
    assertThrows(IllegalArgumentException.class, () -> strict.show(first));
    assertThrows(IllegalStateException.class, strict::address);
  }

  @Test
  void address_isThatOfACopyWhereOneIsShown_andOfTheTableAgainAfterwards() {
    assertThrows(IllegalStateException.class, () -> window.showPages(0x1000, BYTES, null));
    HeldMemory table = held(1);
    window.show(table);
    assertThrows(IllegalArgumentException.class, () -> window.showPages(0x1000, BYTES - 1, null));
    assertEquals(table.memory().address(), window.address());
    window.showPages(0x1000, 2 * BYTES, null);
    assertEquals(0x1000, window.address());
    window.hidePages();
    assertEquals(table.memory().address(), window.address());
    window.showPages(0x2000, BYTES, null);
    HeldMemory other = held(2);
    window.show(other);
    assertEquals(other.memory().address(), window.address(), "of another table");
    window.showPages(0x2000, BYTES, null);
    window.hide();
    assertThrows(IllegalStateException.class, window::address);
  }

  @Test
  void withoutBytes_isNoWindow() {
    InPlaceWindow none = new InPlaceWindow(0, memory -> true, null);
    assertThrows(UnsupportedOperationException.class, none::address);
    assertThrows(UnsupportedOperationException.class, () -> none.show(held(1)));
    assertThrows(UnsupportedOperationException.class, none::hide);
    assertThrows(UnsupportedOperationException.class, () -> none.showPages(0x1000, BYTES, null));
    assertThrows(UnsupportedOperationException.class, none::hidePages);
  }

  @Test
  void published_isToldToOtherProcesses() {
    try (SlotTable table = new SlotTable();
        PublishedSlots before = table.publish(3);
        PublishedSlots slots = table.publish(2);
        PublishedSlots after = table.publish(3)) {
      InPlaceWindow shared = new InPlaceWindow(BYTES, memory -> true, slots);
      assertEquals(Optional.empty(), shown(table, slots));
      shared.show(held(7));
      assertEquals(Optional.of(new Shared(7, 70)), shown(table, slots));
      shared.show(held(8));
      assertEquals(Optional.of(new Shared(8, 80)), shown(table, slots));
      assertEquals(Optional.empty(), shown(table, before));
      assertEquals(Optional.empty(), shown(table, after));
      HeldMemory own = new HeldMemory(Arena.ofAuto().allocate(BYTES));
      assertThrows(IllegalArgumentException.class, () -> shared.show(own));
      shared.hide();
      assertEquals(Optional.empty(), shown(table, slots));
    }
  }

  @Test
  void published_tellsOtherProcessesWhereACopyIs() {
    try (SlotTable table = new SlotTable();
        PublishedSlots copy = table.publish(1);
        PublishedSlots slots = table.publish(2);
        PublishedSlots after = table.publish(1)) {
      InPlaceWindow shared = new InPlaceWindow(BYTES, memory -> true, slots);
      OptionalLong there = OptionalLong.of(copy.exported().offset());
      shared.show(held(7));
      assertEquals(OptionalLong.empty(), shownPages(table, slots));
      shared.showPages(0x1000, BYTES, copy);
      assertEquals(there, shownPages(table, slots));
      assertEquals(Optional.of(new Shared(7, 70)), shown(table, slots), "it is there as before");
      assertEquals(OptionalLong.empty(), shownPages(table, copy));
      assertEquals(OptionalLong.empty(), shownPages(table, after));
      assertEquals(0, SlotTable.entry(SlotTable.entries(all(table), after.exported()), 0));
      shared.hidePages();
      assertEquals(OptionalLong.empty(), shownPages(table, slots));
      shared.showPages(0x1000, BYTES, copy);
      shared.hide();
      assertEquals(OptionalLong.empty(), shownPages(table, slots));
      assertEquals(Optional.empty(), shown(table, slots));
    }
  }

  private static MemorySegment all(SlotTable table) {
    return table.memory().segment();
  }

  private static OptionalLong shownPages(SlotTable table, PublishedSlots slots) {
    MemorySegment entries = SlotTable.entries(all(table), slots.exported());
    return SlotTable.shownPages(entries, slots.exported().count());
  }

  private static Optional<Shared> shown(SlotTable table, PublishedSlots slots) {
    MemorySegment entries = SlotTable.entries(all(table), slots.exported());
    return SlotTable.shown(entries, slots.exported().count());
  }
}
