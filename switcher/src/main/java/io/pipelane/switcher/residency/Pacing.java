package io.pipelane.switcher.residency;

/**
 * The brake on copies that nobody waits for yet, on a device whose copies take processors and
 * memory from runs. While something runs, one page is sent in {@value #SHARE} times the time that
 * it takes. Not safe for several threads: the memory daemon's lock guards it, or a simulator's only
 * thread.
 */
public final class Pacing {
  /** A run is slowed down to a third or so by copies beside it: all in all by an eighth or less. */
  private static final int SHARE = 16;

  private final boolean copiesSlowRuns;
  private boolean underWay;
  private long sentNanos;
  private long restUntilNanos;
  private boolean heldBack;

  /**
   * Holds nothing back.
   *
   * @param copiesSlowRuns whether it ever does
   */
  public Pacing(boolean copiesSlowRuns) {
    this.copiesSlowRuns = copiesSlowRuns;
  }

  /** Somebody asks for the next page; so far nothing is held back. */
  public void begin() {
    heldBack = false;
  }

  /** A page has been sent for. */
  public void sent(long nowNanos) {
    underWay = true;
    sentNanos = nowNanos;
  }

  /** The page that was sent for last has come. */
  public void arrived(long nowNanos) {
    if (underWay) {
      underWay = false;
      restUntilNanos = nowNanos + SHARE * (nowNanos - sentNanos);
    }
  }

  /**
   * Whether the next page has to wait.
   *
   * @param runs under way
   */
  public boolean holdsBack(int runs, long nowNanos) {
    heldBack = copiesSlowRuns && runs > 0 && nowNanos - restUntilNanos < 0;
    return heldBack;
  }

  /** Whether something has to wait since the last {@link #begin}. */
  public boolean hasHeldBack() {
    return heldBack;
  }

  /** When to ask again for what has been held back; 0 where nothing was. */
  public long restNanos(long nowNanos) {
    return heldBack ? Math.max(1, restUntilNanos - nowNanos) : 0;
  }
}
