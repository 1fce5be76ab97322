package io.pipelane.switcher.sharing.trial;

/** Which size of the share is open, and which is next. Not safe for several threads. */
final class SizeChoice {
  /*
   * The first size to be tried is the usual one, later the latest that was kept. Where it is too
   * much for online work the next smaller is tried; where it pays, or brings nothing, the next
   * larger, if what is expected of it fits.
   *
   * How much longer runs take is the pair's and stays, the load changes: of the sizes that pay the
   * largest is open that fits the load, and none where none does. It becomes smaller at once, and
   * larger by a margin, a window later.
   */
  static final int NONE = FittingSizes.NONE;

  private final ShareSizes sizes;
  private final FittingSizes fitting;
  private int first; // the largest that is tried after a stretch without
  private int open = NONE;
  private int kept = NONE; // the latest that was kept, since then

  /**
   * None is open.
   *
   * @param first the size that is tried first
   */
  SizeChoice(ShareSizes sizes, FittingSizes fitting, int first) {
    this.sizes = sizes;
    this.fitting = fitting;
    this.first = first;
  }

  /** The size that is open; NONE for none. */
  int open() {
    return open;
  }

  boolean isOpen() {
    return open != NONE;
  }

  /** A size opens, or none. */
  void open(int size) {
    open = size;
  }

  /** One opens that pays. */
  void keep(int size) {
    open = size;
    kept = size;
    first = size;
  }

  /** Whether one was kept since {@link #forgetKept}. */
  boolean hasKept() {
    return kept != NONE;
  }

  /** All are tried anew. */
  void forgetKept() {
    kept = NONE;
    sizes.forgetWhatPays();
  }

  /** The size to begin with, at this load. */
  int first(long nowNanos) {
    return largest(first, nowNanos);
  }

  /** Whether none may be tried for now. */
  boolean arePaused() {
    return sizes.arePaused(first);
  }

  /** Of what is kept, what is to be open at this load. */
  int byLoad(boolean mayGrow, long nowNanos) {
    if (!isOpen() || !fitting.fits(open, open, nowNanos)) {
      return largest(isOpen() ? open - 1 : kept, nowNanos);
    }
    return mayGrow ? fitting.grown(open, nowNanos) : open;
  }

  /** The next larger than one that may pay. */
  int larger(int size, long nowNanos) {
    return fitting.untried(size, nowNanos);
  }

  /** The next smaller one that fits. */
  int smaller(int size, long nowNanos) {
    return largest(size - 1, nowNanos);
  }

  /** What offline work did without a size: with gates alone, or with a smaller one that pays. */
  double rateBefore(int size, double rateWithout) {
    return isLargerThanKept(size) ? sizes.offlineRate(kept) : rateWithout;
  }

  /** What follows a size that brings too little; smaller ones will not bring more. */
  int insteadOf(int size, long nowNanos) {
    boolean isLarger = isLargerThanKept(size);
    int next = isLarger ? NONE : larger(size, nowNanos);
    for (int each = isLarger ? size : 0; each <= size; each++) {
      sizes.pause(each, nowNanos);
    }
    return isLarger ? largest(kept, nowNanos) : next;
  }

  private boolean isLargerThanKept(int size) {
    return kept != NONE && kept < size;
  }

  /** The largest that fits the load, up to one. */
  private int largest(int most, long nowNanos) {
    return fitting.largest(most, open, nowNanos);
  }
}
