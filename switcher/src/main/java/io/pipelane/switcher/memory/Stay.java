package io.pipelane.switcher.memory;

/**
 * How many of a model's first pages have stayed for a while, and how many of those have memory of
 * their own. Guarded by the daemon's lock.
 */
final class Stay {
  private int seen; // at the latest look, and since
  private int stayed; // from one look to the next
  private int owned;

  /** Looks at how many pages there are; those that were there the last time have stayed. */
  void look(int pages) {
    stayed = seen;
    seen = pages;
  }

  /** All pages but the first have gone. */
  void keepOnly(int pages) {
    seen = Math.min(seen, pages);
    stayed = Math.min(stayed, pages);
    owned = Math.min(owned, pages);
  }

  /** Whether a page that has stayed may have no memory of its own. */
  boolean hasNext() {
    return owned < stayed;
  }

  /** The first of those, which counts as one that has. */
  int next() {
    return owned++;
  }
}
