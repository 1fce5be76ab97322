package io.pipelane.switcher.residency;

/**
 * The brake on copies that nobody waits for yet, on a device whose copies take something from runs.
 * While something runs, each page is followed by a rest as many times as long as it took. Not safe
 * for several threads: the memory daemon's lock guards it, or a simulator's only thread.
 */
public final class Pacing {
  private final int restFactor;
  private boolean underWay;
  private long sentNanos;
  private long restUntilNanos;
  private boolean heldBack;

  /**
   * Holds nothing back.
   *
   * @param restFactor how many times as long as a page took the rest behind it is; 0 for none
   */
  public Pacing(int restFactor) {
    this.restFactor = restFactor;
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
      restUntilNanos = nowNanos + restFactor * (nowNanos - sentNanos);
    }
  }

  /**
   * Whether the next page has to wait.
   *
   * @param runs under way
   */
  public boolean holdsBack(int runs, long nowNanos) {
    heldBack = restFactor > 0 && runs > 0 && nowNanos - restUntilNanos < 0;
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
