package io.pipelane.switcher;

/**
 * The work that the requests of one job have in common. Policies know by it how much work is left
 * behind a request, and whose use its run is. Safe for any thread; one thread writes.
 */
public final class JobWork {
  /** What a new item counts in the mean. */
  private static final double WEIGHT = 0.2;

  private final long cameNanos;
  private volatile long itemsLeft = 1;
  private volatile double nanosPerItem; // 0 until one has run.

  /**
   * A job of which nothing is known but that an item is left.
   *
   * @param cameNanos when it came, by {@link System#nanoTime}, perhaps before this process began
   */
  public JobWork(long cameNanos) {
    this.cameNanos = cameNanos;
  }

  /** When it came. */
  public long cameNanos() {
    return cameNanos;
  }

  /** So many items have not ended, as far as is known; those that wait or run are among them. */
  public void left(long items) {
    itemsLeft = Math.max(1, items);
  }

  /**
   * An item has run.
   *
   * @param nanos what it computed, in all models where there are several, without stalls
   */
  public void ran(long nanos) {
    double before = nanosPerItem;
    nanosPerItem = before == 0 ? Math.max(1, nanos) : before + WEIGHT * (nanos - before);
  }

  /**
   * What the job needs for all items but one: as many as are left, each as items took so far.
   *
   * @param usualNanos what an item takes while none has ended
   */
  public long behindNanos(long usualNanos) {
    double perItem = nanosPerItem;
    return (long) ((itemsLeft - 1) * (perItem > 0 ? perItem : usualNanos));
  }
}
