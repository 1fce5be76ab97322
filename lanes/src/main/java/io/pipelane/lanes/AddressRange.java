package io.pipelane.lanes;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.PagePool.Page;
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
   * <p>A device may put it there later, but before a copy into the slot begins; if that fails, the
   * copy fails.
   *
   * @throws IllegalStateException when the slot has a page already, or the page is not lent
   * @throws StatusException when the system has no memory or mappings left
   */
  void map(int slot, Page page);

  /**
   * Takes the page from under a slot; touching the slot is a fault until the next {@link #map}.
   *
   * @return the page that was there
   * @throws IllegalStateException when the slot has none, or a copy into it is in flight
   */
  Page unmap(int slot);

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
