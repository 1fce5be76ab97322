package io.pipelane.lanes;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.modelstore.host.HostMemory;
import java.lang.foreign.MemorySegment;

/**
 * A fixed range of addresses that pages are mapped into, slot by slot. Mapping and unmapping belong
 * to the memory daemon's thread; nothing is unmapped while work that may touch it is in flight.
 */
public interface AddressRange extends AutoCloseable {
  long address();

  long byteSize();

  /** Number of page slots. */
  int slots();

  /**
   * Puts a page under a slot; the page's content is kept. A page may lie under several slots, of
   * other ranges too, and then they hold the same bytes.
   *
   * <p>A device may put it there later, but before a copy into the slot begins, and before {@link
   * #settled} of the slot happens; if that fails, they fail.
   *
   * @throws IllegalStateException when the slot has a page already, or the page is not lent
   * @throws StatusException when the system has no memory or mappings left
   */
  void map(int slot, Page page);

  /**
   * The same, but the page's content is gone: all of it is zero before a copy into the slot begins,
   * and before {@link #settled} of the slot happens. A page that is taken away before that may have
   * kept it.
   *
   * @throws IllegalStateException as {@link #map}
   * @throws StatusException as {@link #map}
   */
  void mapZeroed(int slot, Page page);

  /**
   * Takes the page from under a slot; touching the slot is a fault until the next {@link #map}.
   *
   * @return the page that was there
   * @throws IllegalStateException when the slot has none, or a copy into it is in flight
   */
  Page unmap(int slot);

  /**
   * The same where the page is given back next, as a rule: a device may leave there what makes it
   * cheap to have the same content under the slot again. Nobody touches the slot meanwhile.
   *
   * @return the page that was there
   * @throws IllegalStateException as {@link #unmap}
   */
  default Page unmapToGiveBack(int slot) {
    return unmap(slot);
  }

  /**
   * Happens once every page of the first slots lies where it was put so far; what runs on pages
   * that no copy has come for waits for it. Events asked for one after another happen in that
   * order.
   *
   * @param slots how many
   */
  DeviceEvent settled(int slots);

  /**
   * Where what the window shows can be read; no part of the range. On the processor these are fixed
   * addresses, on a GPU they are those of what is shown.
   *
   * @throws UnsupportedOperationException when the range has no window
   * @throws IllegalStateException when nothing is shown, on a GPU
   */
  default long windowAddress() {
    throw new UnsupportedOperationException("the address range has no window");
  }

  /**
   * Shows host memory in the window, instead of what is shown there; nothing is copied. Nothing may
   * be running that reads there.
   *
   * @param held as large as the window: a mapped file on the processor, pinned memory on a GPU; it
   *     may go before the range does, but not while it is shown to a GPU, and must not change
   * @throws IllegalArgumentException when it has another size, or is of another kind
   */
  default void show(HostMemory.Loaded held) {
    throw new UnsupportedOperationException("the address range has no window");
  }

  /** Takes what is shown from the window; touching it is a fault until the next {@link #show}. */
  default void hide() {
    throw new UnsupportedOperationException("the address range has no window");
  }

  /**
   * Has runs that begin from now on read a copy of what is shown, in pages of the device. Others
   * may be running meanwhile: they read the one or the other.
   *
   * @param copy a range of this device, as large as the window in whole pages, all of them mapped,
   *     and filled by copies that have ended; it may lose its pages once they are hidden, or
   *     something else is shown
   * @throws UnsupportedOperationException where {@link Device#windowsShowPages} says no
   * @throws IllegalStateException when nothing is shown that it could be a copy of, or it lacks
   *     pages
   * @throws IllegalArgumentException when it is another device's, or has another size
   */
  default void showPages(AddressRange copy) {
    throw new UnsupportedOperationException("the address range shows no pages");
  }

  /** Has what was shown be read again; nothing may be running that reads the copy. */
  default void hidePages() {
    throw new UnsupportedOperationException("the address range shows no pages");
  }

  /** The whole range as memory; only mapped slots may be touched, on the CPU device only. */
  MemorySegment memory();

  /**
   * Gives the addresses back.
   *
   * @throws IllegalStateException when pages are still mapped
   */
  @Override
  void close();
}
