package io.pipelane.lanes.allocation;

import io.pipelane.lanes.PagePool;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The page pool of a device: its lent pages, and the number of slots under which each is mapped.
 * Pages are lent last in, first out, so that memory already touched is used before other.
 */
public final class LentPages implements PagePool {
  private final long pageBytes;
  private final int[] freePages;
  private int free;
  private final BitSet lent;
  private final int[] mappings;
  private final Consumer<Page> whenGivenBack;

  public LentPages(long pageBytes, int total) {
    this(pageBytes, total, page -> {});
  }

  /**
   * The same for somebody who keeps something for each page that is lent.
   *
   * @param whenGivenBack told each page that comes back, before it is lent anew
   */
  public LentPages(long pageBytes, int total, Consumer<Page> whenGivenBack) {
    this.whenGivenBack = whenGivenBack;
    this.pageBytes = pageBytes;
    this.freePages = new int[total];
    Arrays.setAll(freePages, i -> total - 1 - i);
    this.free = total;
    this.lent = new BitSet(total);
    this.mappings = new int[total];
  }

  @Override
  public long pageBytes() {
    return pageBytes;
  }

  @Override
  public int total() {
    return freePages.length;
  }

  @Override
  public int free() {
    return free;
  }

  @Override
  public Optional<Page> take() {
    if (free == 0) {
      return Optional.empty();
    }
    int index = freePages[--free];
    lent.set(index);
    return Optional.of(new Page(index));
  }

  @Override
  public void giveBack(Page page) {
    requireUnmapped(page);
    whenGivenBack.accept(page);
    lent.clear(page.index());
    freePages[free++] = page.index();
  }

  /**
   * Checks that a page may be used.
   *
   * @throws IllegalStateException when it is not lent, or not one of these
   */
  public void requireLent(Page page) {
    int index = page.index();
    if (index < 0 || index >= freePages.length || !lent.get(index)) {
      throw new IllegalStateException(page + " is not lent by this device");
    }
  }

  /**
   * Checks that a page is lent, and lies under no slot.
   *
   * @throws IllegalStateException when it is not so
   */
  public void requireUnmapped(Page page) {
    requireLent(page);
    if (mappings[page.index()] > 0) {
      throw new IllegalStateException(page + " is still mapped; unmap it first");
    }
  }

  /** Whether a page lies under one slot alone. */
  public boolean isMappedOnce(Page page) {
    return mappings[page.index()] == 1;
  }

  void mapped(Page page) {
    mappings[page.index()]++;
  }

  void unmapped(Page page) {
    mappings[page.index()]--;
  }
}
