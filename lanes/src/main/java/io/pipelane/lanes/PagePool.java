package io.pipelane.lanes;

import java.util.Optional;

/**
 * The device's pages, a fixed number of equal size, lent one by one. Not safe for several threads:
 * the memory daemon is its only user.
 */
public interface PagePool {
  long pageBytes();

  int total();

  int free();

  /** Lends a page; empty when none is free. Its content is undefined. */
  Optional<Page> take();

  /**
   * Takes a page back.
   *
   * @throws IllegalStateException when it is not lent, or still mapped
   */
  void giveBack(Page page);

  /** A lent page; {@code index} is its place in the device's memory. */
  record Page(int index) {}
}
