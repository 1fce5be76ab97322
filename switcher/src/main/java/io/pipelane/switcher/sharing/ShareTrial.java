package io.pipelane.switcher.sharing;

import io.pipelane.config.SharingConfig.Multiprocessors;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;

/**
 * Whether it pays to let offline work run on some of the multiprocessors while online work runs,
 * and on how many (MuxFlow §4.3): measured with gates alone, and with gates and the share. {@link
 * #look} belongs to one thread, everything else is for any.
 */
public final class ShareTrial {
  /*
   * Two stretches of WINDOW, one without and one with the share, with enough online work in each;
   * longer ones where few offline runs end, up to LONGEST: they may be long, and without the share
   * there may be none, as gates let none through. What was under way when the share opened is not
   * counted (SETTLING, at least until a first run has ended: its sessions are built then). A size pays where offline work does at least
   * LEAST_GAIN more, by what its runs usually take, and online requests take at most as many times as
   * long as the strictest owner of a model allows, or MOST_SLOWDOWN where none says. That follows
   * from how much longer online runs take, by kinds that ran in both stretches, and from the online
   * load, at which requests wait for each other (OnlineLoad). Then the share stays, and each further
   * stretch is compared with that without it; after KEPT both are measured anew. Sizes that do not
   * pay are tried again after a pause, which doubles each time.
   *
   * The first size to be tried is the usual one. Where it is too much for online work the next
   * smaller is tried; where it pays, or brings nothing, the next larger, if what is expected of it
   * fits. One that is larger than one that pays has to bring LEAST_GAIN more than that. A size whose
   * first run fails is not used, but the next smaller.
   *
   * How much longer runs take is the pair's and stays, the load changes: of the sizes that pay the
   * largest is open that fits the load, and none where none does. It becomes smaller at once, and
   * larger by a margin, a window later. Nor does a trial begin at a load at which what is known or
   * expected of the size would be too much; one that shows too much ends as soon as enough has run.
   */
  private static final System.Logger LOG = System.getLogger(ShareTrial.class.getName());
  private static final long SECOND = 1_000_000_000;
  private static final long WINDOW_NANOS = 5 * SECOND;
  private static final long LONGEST_NANOS = 60 * SECOND;
  private static final long SETTLING_NANOS = 2 * SECOND;
  private static final long LONGEST_SETTLING_NANOS = 8 * SECOND;
  private static final long KEPT_NANOS = 300 * SECOND;
  private static final int ENOUGH_ONLINE = 50;
  private static final int ENOUGH_OFFLINE = 10;
  private static final double MOST_SLOWDOWN = 1.05;
  private static final double LEAST_GAIN = 1.02;
  private static final int NONE = -1;

  /** Of the slowdown that is allowed, what may be expected of a size that is to open. */
  private static final double MARGIN = 0.8;

  /** What is being measured or waited for. */
  enum Phase {
    WITHOUT,
    SETTLING,
    WITH,
    KEPT,
    PAUSE
  }

  private final Multiprocessors rule;
  private volatile int open;
  private volatile DoubleSupplier mostSlowdown = () -> MOST_SLOWDOWN;

  // Guarded by this.
  private final ShareSizes sizes;
  private final OnlineLoad load;
  private Phase phase = Phase.WITHOUT;
  private int first; // the largest that is tried after a stretch without
  private int kept = NONE; // the latest that was kept, since then
  private int failed = NONE;
  private Stretch without = new Stretch();
  private double rateWithout;
  private Stretch now = new Stretch();
  private long beganNanos;
  private long keptSinceNanos;
  private boolean looked;
  private OptionalDouble offlineWithout = OptionalDouble.empty();
  private OptionalDouble offlineWith = OptionalDouble.empty();
  private OptionalDouble onlineSlowdown = OptionalDouble.empty();

  private ShareTrial(Multiprocessors rule, ShareSizes sizes, int first, int lanes) {
    this.rule = rule;
    this.sizes = sizes;
    this.first = first;
    this.load = new OnlineLoad(lanes);
    this.open = rule == Multiprocessors.ALWAYS ? 0 : NONE;
  }

  /**
   * A trial that has measured nothing.
   *
   * @param percents the sizes that the share may have, ascending
   * @param usual the percentage that is tried first, or else the next smaller one
   * @param lanes online runs that compute at once
   */
  static ShareTrial of(Multiprocessors rule, List<Integer> percents, int usual, int lanes) {
    ShareSizes sizes = new ShareSizes(percents);
    return percents.isEmpty() ? off() : new ShareTrial(rule, sizes, sizes.atMost(usual), lanes);
  }

  /** There is no share. */
  static ShareTrial off() {
    return new ShareTrial(Multiprocessors.OFF, new ShareSizes(List.of()), NONE, 1);
  }

  /** Has it keep to what the owners of models allow, if any says. */
  void keepTo(Supplier<OptionalDouble> strictest) {
    mostSlowdown = () -> strictest.get().orElse(MOST_SLOWDOWN);
  }

  /** Whether there is a share at all, open or not. */
  boolean hasShare() {
    return rule != Multiprocessors.OFF;
  }

  /** Whether offline work may run beside online work now. */
  public boolean isOpen() {
    return open != NONE;
  }

  /** The number of the size that the share has now, from the smallest on; negative for none. */
  public int size() {
    return open;
  }

  /** An online run has ended well. */
  void onlineRan(Object kind, long nanos) {
    if (rule == Multiprocessors.MEASURED) {
      synchronized (this) {
        load.ran(nanos);
        now.onlineRan(kind, nanos);
      }
    }
  }

  /**
   * An offline run has ended well that had the whole device.
   *
   * @param usualNanos what it takes so
   */
  public void offlineRan(long usualNanos) {
    if (rule == Multiprocessors.MEASURED) {
      synchronized (this) {
        now.offlineRan(usualNanos);
      }
    }
  }

  /**
   * One has ended well that had the share, of a size.
   *
   * @param usualNanos what it takes with the whole device
   */
  public void offlineRan(long usualNanos, int size) {
    if (rule == Multiprocessors.MEASURED) {
      synchronized (this) {
        now.offlineRan(usualNanos);
        sizes.hasRun(size);
      }
    }
  }

  /** One has failed that had the share, of a size; perhaps that is to blame. */
  public void offlineFailed(int size) {
    if (rule == Multiprocessors.MEASURED) {
      synchronized (this) {
        if (!sizes.isProven(size)) {
          failed = size;
        }
      }
    }
  }

  /** Goes on with what is measured; returns whether the share has opened, closed or changed. */
  boolean look(long nowNanos) {
    if (rule != Multiprocessors.MEASURED) {
      return false;
    }
    int before = open;
    synchronized (this) {
      if (!looked) {
        looked = true;
        beganNanos = nowNanos;
      }
      load.look(nowNanos, isOpen() ? sizes.slower(open, nowNanos) : 1);
      sizes.look(nowNanos);
      if (!fellBack(nowNanos)) {
        step(nowNanos);
      }
    }
    return open != before;
  }

  /** From a size whose first run has failed, where there is a smaller one. */
  private boolean fellBack(long nowNanos) {
    boolean fallsBack = failed != NONE && failed == open && failed > 0;
    failed = NONE;
    if (fallsBack) {
      LOG.log(
          Level.INFO,
          "offline work fails on {0} % of the multiprocessors: it is to have fewer",
          sizes.percent(open));
      sizes.pause(open, nowNanos);
      useOrMeasureAnew(largest(open - 1, nowNanos), nowNanos);
    }
    return fallsBack;
  }

  private void step(long nowNanos) {
    long passed = nowNanos - beganNanos;
    boolean isOver = passed >= WINDOW_NANOS;
    boolean hasOnlineWork = (double) now.online() * WINDOW_NANOS >= (double) ENOUGH_ONLINE * passed;
    boolean isEnough = now.offline() >= ENOUGH_OFFLINE || passed >= LONGEST_NANOS;
    switch (phase) {
      case WITHOUT -> {
        if (isOver && !hasOnlineWork) {
          begin(Phase.WITHOUT, nowNanos);
        } else if (isOver && isEnough) {
          int size = largest(first, nowNanos);
          if (size == NONE) {
            begin(Phase.WITHOUT, nowNanos);
          } else {
            without = now;
            rateWithout = now.offlineRate(passed);
            kept = NONE;
            attempt(size, nowNanos);
          }
        }
      }
      case SETTLING -> {
        boolean hasRun = sizes.isProven(open) || passed >= LONGEST_SETTLING_NANOS;
        if (passed >= SETTLING_NANOS && hasRun) {
          begin(Phase.WITH, nowNanos);
        }
      }
      case WITH -> {
        if (now.online() >= ENOUGH_ONLINE && slows()) {
          slowed(nowNanos);
        } else if (isOver && !hasOnlineWork) {
          measureAnew(nowNanos);
        } else if (isOver && isEnough) {
          judge(nowNanos);
        }
      }
      case KEPT -> {
        int fitting = byLoad(isOver, nowNanos);
        if (fitting != open) {
          use(fitting, nowNanos);
        } else if (isOver) {
          watch(isOpen() && hasOnlineWork, isEnough, nowNanos);
        }
      }
      case PAUSE -> {
        if (!sizes.arePaused(first)) {
          begin(Phase.WITHOUT, nowNanos);
        }
      }
    }
  }

  /** A size has been on trial for long enough to tell. */
  private void judge(long nowNanos) {
    if (now.offline() == 0) {
      measureAnew(nowNanos);
    } else if (slows()) {
      slowed(nowNanos);
    } else {
      measured(nowNanos);
      boolean isLarger = kept != NONE && kept < open;
      double before = isLarger ? sizes.offlineRate(kept) : rateWithout;
      boolean pays = sizes.offlineRate(open) >= LEAST_GAIN * before;
      tell(pays ? "kept" : "too little", nowNanos);
      if (pays) {
        keptSinceNanos = kept == NONE ? nowNanos : keptSinceNanos;
        sizes.pays(open);
        keep(open, nowNanos);
      } else {
        bringsLittle(isLarger, nowNanos);
      }
    }
  }

  /**
   * A stretch with what was kept is over.
   *
   * @param tells whether there was online work to compare
   */
  private void watch(boolean tells, boolean isEnough, long nowNanos) {
    if (tells && isEnough) {
      measured(nowNanos);
    }
    if (tells && slows()) {
      slowed(nowNanos);
    } else if (nowNanos - keptSinceNanos >= KEPT_NANOS) {
      measureAnew(nowNanos);
    } else {
      int larger = tells && isEnough ? larger(nowNanos) : NONE;
      if (larger == NONE) {
        begin(Phase.KEPT, nowNanos);
      } else {
        attempt(larger, nowNanos);
      }
    }
  }

  /** Of what is kept, what is to be open at this load. */
  private int byLoad(boolean mayGrow, long nowNanos) {
    if (!isOpen() || !fits(open, nowNanos)) {
      return largest(isOpen() ? open - 1 : kept, nowNanos);
    }
    for (int size = sizes.count() - 1; mayGrow && size > open; size--) {
      if (sizes.isKnownToPay(size) && fits(size, nowNanos)) {
        return size;
      }
    }
    return open;
  }

  /** The largest that fits the load, up to one. */
  private int largest(int most, long nowNanos) {
    int size = most;
    while (size >= 0 && !fits(size, nowNanos)) {
      size--;
    }
    return Math.max(NONE, size);
  }

  /** The next larger one that may pay, as far as is known. */
  private int larger(long nowNanos) {
    for (int size = open + 1; size < sizes.count(); size++) {
      if (!sizes.isKnownToPay(size) && fits(size, nowNanos)) {
        return size;
      }
    }
    return NONE;
  }

  /** Whether online work bears a size at its load; one that is not open, by a margin. */
  private boolean fits(int size, long nowNanos) {
    double most = mostSlowdown.getAsDouble() - 1;
    double slower = load.requestsSlower(sizes.slower(size, nowNanos)) - 1;
    return !sizes.isPaused(size) && slower <= (size == open ? most : MARGIN * most);
  }

  private boolean slows() {
    return load.requestsSlower(now.slowdown(without)) > mostSlowdown.getAsDouble();
  }

  /** Online work has not borne it: at this load, which it may at a lower one, or at any. */
  private void slowed(long nowNanos) {
    measured(nowNanos);
    tell("too much", nowNanos);
    if (now.slowdown(without) - 1 > MARGIN * (mostSlowdown.getAsDouble() - 1)) {
      sizes.pause(open, nowNanos);
    }
    useOrMeasureAnew(largest(open - 1, nowNanos), nowNanos);
  }

  /** Smaller ones will not bring more. */
  private void bringsLittle(boolean isLarger, long nowNanos) {
    int next = isLarger ? NONE : larger(nowNanos);
    for (int size = isLarger ? open : 0; size <= open; size++) {
      sizes.pause(size, nowNanos);
    }
    useOrMeasureAnew(isLarger ? largest(kept, nowNanos) : next, nowNanos);
  }

  /** Keeps what a stretch with the share and that without it have come to. */
  private void measured(long nowNanos) {
    double slower = now.slowdown(without);
    double rate = now.offlineRate(nowNanos - beganNanos);
    sizes.measured(open, slower, rate, nowNanos);
    offlineWithout = OptionalDouble.of(rateWithout);
    offlineWith = OptionalDouble.of(rate);
    onlineSlowdown = OptionalDouble.of(slower);
  }

  private void tell(String verdict, long nowNanos) {
    LOG.log(
        Level.INFO,
        "offline work on {0} % of the multiprocessors beside online work: online runs take {1} times"
            + " as long at a load of {2}, offline work does {3} of what it does alone, and {4} without:"
            + " {5}",
        sizes.percent(open),
        now.slowdown(without),
        load.load(),
        now.offlineRate(nowNanos - beganNanos),
        rateWithout,
        verdict);
  }

  private void useOrMeasureAnew(int size, long nowNanos) {
    if (size != NONE) {
      use(size, nowNanos);
    } else {
      measureAnew(nowNanos);
    }
  }

  private void use(int size, long nowNanos) {
    if (size == NONE) {
      open = NONE;
      begin(Phase.KEPT, nowNanos);
    } else if (sizes.isKnownToPay(size)) {
      keep(size, nowNanos);
    } else {
      attempt(size, nowNanos);
    }
  }

  private void keep(int size, long nowNanos) {
    open = size;
    kept = size;
    first = size;
    begin(Phase.KEPT, nowNanos);
  }

  private void attempt(int size, long nowNanos) {
    open = size;
    begin(Phase.SETTLING, nowNanos);
  }

  private void measureAnew(long nowNanos) {
    open = NONE;
    begin(sizes.arePaused(first) ? Phase.PAUSE : Phase.WITHOUT, nowNanos);
  }

  private void begin(Phase next, long nowNanos) {
    phase = next;
    beganNanos = nowNanos;
    now = new Stretch();
  }

  /** How far it is. */
  synchronized ShareOverview overview() {
    int size = open;
    return new ShareOverview(
        state(),
        size == NONE ? 0 : sizes.percent(size),
        sizes.overview(),
        offlineWithout,
        offlineWith,
        onlineSlowdown);
  }

  private ShareOverview.State state() {
    return switch (rule) {
      case OFF -> ShareOverview.State.OFF;
      case ALWAYS -> ShareOverview.State.ALWAYS;
      case MEASURED ->
          switch (phase) {
            case WITHOUT -> waiting();
            case SETTLING, WITH -> ShareOverview.State.TRYING;
            case KEPT -> isOpen() ? ShareOverview.State.KEPT : ShareOverview.State.LOADED;
            case PAUSE -> ShareOverview.State.DROPPED;
          };
    };
  }

  private ShareOverview.State waiting() {
    if (largest(first, beganNanos) == NONE) {
      return ShareOverview.State.LOADED;
    }
    return offlineWith.isPresent() ? ShareOverview.State.TRYING : ShareOverview.State.UNTRIED;
  }

  synchronized Phase phase() {
    return phase;
  }
}
