package io.pipelane.lanes.cpu;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.BytesSource;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.cpu.CpuPagePool.Shown;
import io.pipelane.modelstore.MemorySource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Pages that show weights where they lie, and are given memory of their own. */
final class OwnContentTest extends ShownWeightsFixture {
  @Test
  void pagesUnderTwoRanges_areOwnedUnderWhoeverReadsAndNeedTheFileNoMore() throws IOException {
    byte[] content = write("weights", 1);
    AddressRange range = device.reserve(BYTES);
    AddressRange other = device.reserve(BYTES);
    for (int round = 0; round < 20; round++) {
      try (Arena lifetime = Arena.ofShared()) {
        MemorySource source = map("weights", lifetime);
        makeReady(range, source, content);
        List<Page> pages = bringInTwice(range, other, source);
        assertEquals(PAGES, device.shownPages());
        AtomicBoolean over = new AtomicBoolean();
        CompletableFuture<Void> reader =
            CompletableFuture.runAsync(() -> readUntil(over, other, content));

        pages.forEach(page -> device.own(page).orElseThrow().await());
        over.set(true);
        reader.join();
      }
      assertEquals(0, device.shownPages());
      assertContent(content, range);
      assertContent(content, other);
      for (int slot = 0; slot < PAGES; slot++) {
        other.unmap(slot);
      }
      unmapPages(device, range);
    }
  }

  private List<Page> bringInTwice(AddressRange range, AddressRange other, MemorySource source) {
    List<Page> pages = new ArrayList<>();
    for (int slot = 0; slot < PAGES; slot++) {
      Page page = device.pages().take().orElseThrow();
      range.map(slot, page);
      pages.add(page);
    }
    device.copies().copy(source, 0, range, 0, BYTES).await();
    for (int slot = 0; slot < PAGES; slot++) {
      other.map(slot, pages.get(slot));
    }
    other.settled(PAGES).await();
    return pages;
  }

  private static void readUntil(AtomicBoolean over, AddressRange range, byte[] content) {
    do {
      assertArrayEquals(content, range.memory().asSlice(0, BYTES).toArray(JAVA_BYTE));
    } while (!over.get());
  }

  @Test
  void pageThatIsGivenBackMeanwhile_isItsNextHoldersAlone() throws IOException {
    byte[] content = write("weights", 2);
    MemorySource source = map("weights", arena);
    AddressRange range = device.reserve(BYTES);
    makeReady(range, source, content);
    for (int round = 0; round < 100; round++) {
      bringIn(range, source);
      List<Page> pages = new ArrayList<>();
      for (int slot = 0; slot < PAGES; slot++) {
        pages.add(range.unmap(slot));
      }
      pages.forEach(device::own);
      pages.forEach(device.pages()::giveBack);

      BytesSource random = BytesSource.random(BYTES, round);
      bringIn(range, random);
      assertEquals(0, device.shownPages());
      assertContent(random.bytes(), range);
      unmapPages(device, range);
    }
  }

  /**
   * Whoever copies may want the monitor as often as there are pieces: only the first is waited for.
   */
  @Test
  void pageThatIsGivenBack_beginsNoFurtherPiece() throws Exception {
    write("weights", 5);
    try (CpuPagePool pool = new CpuPagePool(PAGE, 2, TableMoves.SYSTEM);
        StandingFile file =
            new StandingFile(
                map("weights", arena).memory().orElseThrow(), PAGE, TableMoves.SYSTEM)) {
      Page page = pool.lent().take().orElseThrow();
      Shown part = new Shown(file, 0);
      pool.show(page, part);
      assertTrue(pool.populateWhile(page, part));
      Thread holder = new Thread(() -> pool.lent().giveBack(page));
      synchronized (part) { // A piece is being copied.
        holder.start();
        while (pool.shownBy(page) != null) {
          Thread.onSpinWait();
        }
        assertFalse(pool.copyWhile(page, part, 0, PAGE));
        assertTrue(holder.isAlive());
      }
      holder.join();
    }
  }

  @Test
  void memoryOfItsOwn_behindTheFilesEnd_isZero() throws IOException {
    byte[] content = write("weights", 6);
    MemorySource source = map("weights", arena);
    AddressRange range = device.reserve(BYTES);
    makeReady(range, source, content);
    List<Page> kept = new ArrayList<>();
    for (int page = 0; page < 8; page++) { // What was in the pages before.
      Page each = device.pages().take().orElseThrow();
      range.map(0, each);
      device.copies().copy(BytesSource.random(PAGE, page), 0, range, 0, PAGE).await();
      range.unmap(0);
      kept.add(each);
    }
    kept.forEach(device.pages()::giveBack);
    List<Page> pages = new ArrayList<>();
    for (int slot = 0; slot < PAGES; slot++) {
      pages.add(device.pages().take().orElseThrow());
      range.map(slot, pages.get(slot));
    }
    device.copies().copy(source, 0, range, 0, BYTES).await();

    pages.forEach(page -> device.own(page).orElseThrow().await());

    assertEquals(0, device.shownPages());
    assertContent(Arrays.copyOf(content, PAGES * PAGE), range);
    unmapPages(device, range);
  }

  @Test
  void copyIntoAPageThatLiesUnderTwoRanges_isSeenInBoth() throws IOException {
    byte[] content = write("weights", 7);
    MemorySource source = map("weights", arena);
    AddressRange range = device.reserve(BYTES);
    AddressRange other = device.reserve(BYTES);
    makeReady(range, source, content);
    bringInTwice(range, other, source);

    BytesSource random = BytesSource.random(PAGE / 2, 70);
    device.copies().copy(random, 0, range, 0, PAGE / 2).await();

    System.arraycopy(random.bytes(), 0, content, 0, PAGE / 2);
    assertContent(content, range);
    assertContent(content, other);
    for (int slot = 0; slot < PAGES; slot++) {
      other.unmap(slot);
    }
    unmapPages(device, range);
  }

  @Test
  void pageThatShowsNothing_isItsOwn() throws IOException {
    AddressRange range = device.reserve(BYTES);
    Page page = device.pages().take().orElseThrow();
    range.map(0, page);

    assertTrue(device.own(page).isEmpty());

    device.pages().giveBack(range.unmap(0));
  }

  @Test
  void copiedOnce_nothingIsWrittenYet() throws IOException {
    byte[] content = write("weights", 4);
    MemorySource source = map("weights", arena);
    try (StandingFiles files = new StandingFiles(PAGE, TableMoves.SYSTEM)) {
      files.copied(source.memory().orElseThrow(), 0, PAGE + 512);
      files.copied(source.memory().orElseThrow(), PAGE + 512, BYTES - PAGE - 512);
      assertFalse(files.writeNext());

      files.copied(source.memory().orElseThrow(), PAGE, content.length - PAGE);
      assertTrue(files.writeNext());
      assertTrue(files.writeNext());
      assertFalse(files.writeNext());
    }
  }
}
