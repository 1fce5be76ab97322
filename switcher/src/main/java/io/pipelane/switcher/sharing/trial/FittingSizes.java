package io.pipelane.switcher.sharing.trial;

/**
 * Which sizes of the share online work bears at its load, as far as is known or expected. Not safe
 * for several threads.
 */
final class FittingSizes {
  static final int NONE = -1;

  /** Of the slowdown that is allowed, what may be expected of a size that is to open. */
  static final double MARGIN = 0.8;

  private final ShareSizes sizes;
  private final OnlineLoad load;
  private final OnlineAlone alone;

  FittingSizes(ShareSizes sizes, OnlineLoad load, OnlineAlone alone) {
    this.sizes = sizes;
    this.load = load;
    this.alone = alone;
  }

  /** Whether online work bears a size at its load; one that is not open, by a margin. */
  boolean fits(int size, int open, long nowNanos) {
    double most = alone.allowedExcess();
    double slower = load.requestsSlower(sizes.slower(size, nowNanos)) - 1;
    return !sizes.isPaused(size) && slower <= (size == open ? most : MARGIN * most);
  }

  /** The largest that fits, up to one. */
  int largest(int most, int open, long nowNanos) {
    int size = most;
    while (size >= 0 && !fits(size, open, nowNanos)) {
      size--;
    }
    return Math.max(NONE, size);
  }

  /** The largest that fits and is known to pay, above the one that is open; or that. */
  int grown(int open, long nowNanos) {
    for (int size = sizes.count() - 1; size > open; size--) {
      if (sizes.isKnownToPay(size) && fits(size, open, nowNanos)) {
        return size;
      }
    }
    return open;
  }

  /** The next larger one that may pay, as far as is known. */
  int untried(int open, long nowNanos) {
    for (int size = open + 1; size < sizes.count(); size++) {
      if (!sizes.isKnownToPay(size) && fits(size, open, nowNanos)) {
        return size;
      }
    }
    return NONE;
  }
}
