package io.pipelane.lanes;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.lanes.PagePool.Page;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What every device does with pages and address ranges. */
@Timeout(30)
public abstract class DevicePageContract {
  protected static final int PAGES = 8;

  protected Device device;
  protected int pageBytes;

  /** Opens a device with {@link #PAGES} pages of the smallest size that it is good at. */
  protected abstract Device open();

  /** Reads bytes from mapped slots back to the host. */
  protected abstract byte[] read(AddressRange range, long offset, int bytes);

  @BeforeEach
  void openDevice() {
    device = open();
    pageBytes = Math.toIntExact(device.pages().pageBytes());
  }

  @AfterEach
  void closeDevice() {
    if (device != null) { // An opening that was skipped leaves none.
      device.close();
    }
  }

  @Test
  void take_untilExhausted_lendsEachPageOnce() {
    PagePool pool = device.pages();
    assertEquals(PAGES, pool.total());
    Set<Page> lent = new HashSet<>();
    for (int i = 0; i < PAGES; i++) {
      assertEquals(PAGES - i, pool.free());
      lent.add(pool.take().orElseThrow());
    }
    assertEquals(PAGES, lent.size());
    assertEquals(Optional.empty(), pool.take());
    lent.forEach(pool::giveBack);
    assertEquals(PAGES, pool.free());
  }

  @Test
  void vacate_lentPage_hasMemoryAgainWhenItIsMapped() {
    assumeTrue(device.vacatesPages(), "this device keeps the memory of its pages");
    Page page = page();
    AddressRange range = device.reserve(pageBytes);
    range.map(0, page);
    assertThrows(IllegalStateException.class, () -> device.vacate(page), "it is mapped");
    range.unmap(0);
    device.vacate(page);
    range.map(0, page);
    assertEquals(pageBytes, read(range, 0, pageBytes).length);
    range.unmap(0);
    device.pages().giveBack(page);
    assertThrows(IllegalStateException.class, () -> device.vacate(page), "it is not lent");
    range.close();
  }

  @Test
  void giveBack_ofWhatIsNotLent_throwsAndChangesNothing() {
    Page page = page();
    device.pages().giveBack(page);
    assertThrows(IllegalStateException.class, () -> device.pages().giveBack(page));
    assertThrows(IllegalStateException.class, () -> device.pages().giveBack(new Page(-1)));
    assertThrows(IllegalStateException.class, () -> device.pages().giveBack(new Page(PAGES)));
    assertEquals(PAGES, device.pages().free());
  }

  @Test
  void giveBack_ofMappedPage_throwsAndLeavesItMapped() {
    AddressRange range = device.reserve(1);
    Page page = page();
    range.map(0, page);
    assertThrows(IllegalStateException.class, () -> device.pages().giveBack(page));
    assertEquals(page, range.unmap(0));
    device.pages().giveBack(page);
  }

  @Test
  void reserve_roundsUpToPages_andRefusesNothing() {
    AddressRange range = device.reserve(pageBytes + 1L);
    assertEquals(2, range.slots());
    assertEquals(2L * pageBytes, range.byteSize());
    assertEquals(0, range.address() % pageBytes);
    assertThrows(IllegalArgumentException.class, () -> device.reserve(0));
    assertThrows(IllegalArgumentException.class, () -> device.reserve(-1));
  }

  @Test
  void map_badly_throwsAndChangesNothing() {
    AddressRange range = device.reserve(2L * pageBytes);
    Page first = page();
    Page second = page();
    range.map(1, first);
    assertThrows(IllegalStateException.class, () -> range.map(1, second));
    assertThrows(IndexOutOfBoundsException.class, () -> range.map(2, second));
    assertThrows(IndexOutOfBoundsException.class, () -> range.map(-1, second));
    device.pages().giveBack(second);
    assertThrows(IllegalStateException.class, () -> range.map(0, second));
    assertThrows(IllegalStateException.class, () -> range.unmap(0));
    assertThrows(IndexOutOfBoundsException.class, () -> range.unmap(2));
    assertThrows(IllegalStateException.class, range::close);
    assertEquals(first, range.unmap(1));
    range.close();
    range.close();
    assertThrows(IllegalStateException.class, () -> range.map(0, first));
    device.pages().giveBack(first);
    assertEquals(PAGES, device.pages().free());
  }

  @Test
  void remap_intoAnySlotOfAnyRange_keepsTheContent() {
    AddressRange here = device.reserve(4L * pageBytes);
    AddressRange there = device.reserve(4L * pageBytes);
    BytesSource source = BytesSource.random(pageBytes * 4, 1);
    for (int slot : new int[] {2, 0, 3, 1}) {
      here.map(slot, page());
    }
    device.copies().copy(source, 0, here, 0, source.byteSize()).await();
    assertArrayEquals(source.bytes(), read(here, 0, pageBytes * 4));
    for (int slot = 0; slot < 4; slot++) {
      there.map(3 - slot, here.unmap(slot));
    }
    for (int slot = 0; slot < 4; slot++) {
      assertArrayEquals(
          slice(source, slot * pageBytes, pageBytes),
          read(there, (3L - slot) * pageBytes, pageBytes));
    }
    assertNotEquals(here.address(), there.address());
  }

  @Test
  void map_ofOnePageUnderTwoSlots_sharesItsBytes() {
    AddressRange here = device.reserve(1);
    AddressRange there = device.reserve(1);
    Page page = page();
    here.map(0, page);
    there.map(0, page);
    BytesSource source = BytesSource.random(pageBytes, 2);
    device.copies().copy(source, 0, here, 0, pageBytes).await();
    assertArrayEquals(source.bytes(), read(there, 0, pageBytes));
    here.unmap(0);
    assertThrows(IllegalStateException.class, () -> device.pages().giveBack(page));
    there.unmap(0);
    device.pages().giveBack(page);
  }

  /** Lends a page that the test needs. */
  protected final Page page() {
    return device.pages().take().orElseThrow();
  }

  /** A range with a page under each slot. */
  protected final AddressRange mapped(int slots) {
    AddressRange range = device.reserve((long) slots * pageBytes);
    for (int slot = 0; slot < slots; slot++) {
      range.map(slot, page());
    }
    return range;
  }

  protected static byte[] slice(BytesSource source, int offset, int bytes) {
    return Arrays.copyOfRange(source.bytes(), offset, offset + bytes);
  }
}
