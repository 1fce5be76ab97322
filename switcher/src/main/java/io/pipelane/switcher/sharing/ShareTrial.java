package io.pipelane.switcher.sharing;

import io.pipelane.config.SharingConfig.Multiprocessors;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.Supplier;

/**
 * Whether it pays to let offline work run on some of the multiprocessors while online work runs,
 * and on how many (MuxFlow §4.3): measured with gates alone, and with gates and the share. {@link
 * #look} belongs to one thread, everything else is for any.
 */
public final class ShareTrial {
  /*
   * Three stretches of WINDOW, with enough online work in each: with gates alone, with all offline
   * work held (ALONE), and with the share; the first and the last longer where few offline runs end,
   * up to LONGEST: they may be long, and gates may let none through; ALONE is longer where answers
   * differ much (OnlineAlone). What was under way when the share opened is not counted (SETTLING, at
   * least until a first run has ended: its sessions are built then). A size pays where offline work does at least LEAST_GAIN more than with gates alone,
   * by what its runs usually take, and online requests take at most as many times as long as alone
   * as the strictest owner of a model allows, or MOST_SLOWDOWN where none says.
   *
   * Whole answers are compared, of requests that came and were answered within the stretch, with
   * those of the same model and shapes that had as many requests before them: how long these take is
   * in both, and chance is less by far. How many more wait for each other follows from the online
   * load (OnlineLoad). With gates alone offline segments end right before online runs, so that tells
   * nothing of online work alone. What may be too much by the error of the comparison is measured
   * for up to LONGEST and not kept in doubt; too few answers that can be compared are no verdict.
   *
   * What online work takes alone may change meanwhile, most of all after a start. So before a size
   * is kept offline work stands once more, behind the share (BEHIND), unless the two stretches that
   * were measured last agree; if these do not, that is no verdict, and all is measured anew.
   *
   * Then the share stays, and each further stretch is compared with that alone, and closes it where
   * it is too much beyond the error; after KEPT all is measured anew. Sizes that do not pay are tried
   * again after a pause, which doubles each time. Offline work is held once a minute at most, by the
   * mean, and once in KEPT while the same is asked and nothing drifts.
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
  private static final double LEAST_GAIN = 1.02;
  private static final int NONE = FittingSizes.NONE;

  /** What is being measured or waited for. */
  enum Phase {
    WITHOUT,
    ALONE,
    SETTLING,
    WITH,
    BEHIND,
    KEPT,
    PAUSE
  }

  private final Multiprocessors rule;
  private volatile int open;
  private volatile boolean holds;

  // Guarded by this.
  private final ShareSizes sizes;
  private final OnlineLoad load;
  private final OnlineAlone alone;
  private final FittingSizes fitting;
  private Phase phase = Phase.WITHOUT;
  private int first; // the largest that is tried after a stretch without
  private int kept = NONE; // the latest that was kept, since then
  private int latest = NONE; // that was open, or is
  private int failed = NONE;
  private double rateWithout;
  private Stretch now = new Stretch();
  private Stretch shared = new Stretch(); // the one with the share, while BEHIND
  private long sharedNanos;
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
    this.alone = new OnlineAlone(load);
    this.fitting = new FittingSizes(sizes, load, alone);
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
    alone.keepTo(strictest);
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

  /** Whether all offline work is to stand, to be compared with. */
  boolean holdsOffline() {
    return holds;
  }

  /** An online run has ended well. */
  void onlineRan(long nanos) {
    if (compares()) {
      synchronized (this) {
        load.ran(nanos);
      }
    }
  }

  /** Whether it is told of answers. */
  boolean compares() {
    return rule == Multiprocessors.MEASURED;
  }

  /** An online request has been answered well, so long after it came. */
  public void onlineAnswered(Object kind, long cameNanos, long nanos) {
    if (compares()) {
      synchronized (this) {
        if (looked && cameNanos - beganNanos >= 0) { // Else it met what was before.
          now.onlineAnswered(kind, nanos);
        }
      }
    }
  }

  /**
   * An offline run has ended well that had the whole device.
   *
   * @param usualNanos what it takes so
   */
  public void offlineRan(long usualNanos) {
    if (compares()) {
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
    if (compares()) {
      synchronized (this) {
        now.offlineRan(usualNanos);
        sizes.hasRun(size);
      }
    }
  }

  /** One has failed that had the share, of a size; perhaps that is to blame. */
  public void offlineFailed(int size) {
    if (compares()) {
      synchronized (this) {
        if (!sizes.isProven(size)) {
          failed = size;
        }
      }
    }
  }

  /** Goes on with what is measured; returns whether offline work may do anything else now. */
  boolean look(long nowNanos) {
    if (!compares()) {
      return false;
    }
    int before = open;
    boolean held = holds;
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
    return open != before || holds != held;
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
          rateWithout = now.offlineRate(passed);
          tryOrMeasureAlone(nowNanos);
        }
      }
      case ALONE -> {
        if (isOver && (!hasOnlineWork || alone.isEnough(now, passed))) {
          if (hasOnlineWork) {
            alone.measured(now, nowNanos);
          }
          tryOrMeasureAlone(nowNanos);
        }
      }
      case SETTLING -> {
        boolean hasRun = sizes.isProven(open) || passed >= LONGEST_SETTLING_NANOS;
        if (passed >= SETTLING_NANOS && hasRun) {
          begin(Phase.WITH, nowNanos);
        }
      }
      case WITH -> {
        boolean isTold = !alone.mayBeTooMuch(now) || passed >= LONGEST_NANOS;
        if (alone.isTooMuch(now)) {
          slowed(nowNanos);
        } else if (isOver && !hasOnlineWork) {
          measureAnew(nowNanos);
        } else if (isOver && isEnough && isTold) {
          judge(nowNanos);
        }
      }
      case BEHIND -> {
        if (isOver && !hasOnlineWork) {
          alone.forget();
          measureAnew(nowNanos);
        } else if (isOver && alone.isEnough(now, passed)) {
          alone.measured(now, nowNanos);
          judgeBehind(nowNanos);
        }
      }
      case KEPT -> {
        int size = byLoad(isOver, nowNanos);
        if (size != open) {
          use(size, nowNanos);
        } else if (isOver) {
          watch(isOpen() && hasOnlineWork, isEnough, passed, nowNanos);
        }
      }
      case PAUSE -> {
        if (!sizes.arePaused(first)) {
          begin(Phase.WITHOUT, nowNanos);
        }
      }
    }
  }

  /** Has offline work stand for a while, unless that was so lately, before the first size. */
  private void tryOrMeasureAlone(long nowNanos) {
    int size = largest(first, nowNanos);
    if (size != NONE && alone.isKnown(nowNanos)) {
      kept = NONE;
      attempt(size, nowNanos);
    } else {
      begin(size != NONE && alone.mayBegin(nowNanos) ? Phase.ALONE : Phase.WITHOUT, nowNanos);
    }
  }

  /** A size has been on trial for long enough to tell. */
  private void judge(long nowNanos) {
    if (now.offline() == 0) {
      measureAnew(nowNanos);
    } else if (!alone.tells(now)) {
      isUnlike(nowNanos);
    } else if (alone.mayBeTooMuch(now)) {
      slowed(nowNanos);
    } else {
      boolean isLarger = kept != NONE && kept < latest;
      double before = isLarger ? sizes.offlineRate(kept) : rateWithout;
      boolean pays = now.offlineRate(nowNanos - beganNanos) >= LEAST_GAIN * before;
      if (pays && !alone.isSteady()) {
        measureBehind(nowNanos);
      } else {
        measured(nowNanos);
        tell(pays ? "kept" : "too little", nowNanos);
        if (pays) {
          keptSinceNanos = kept == NONE ? nowNanos : keptSinceNanos;
          sizes.pays(latest);
          keep(latest, nowNanos);
        } else {
          bringsLittle(isLarger, nowNanos);
        }
      }
    }
  }

  /** Has offline work stand once more, behind the share. */
  private void measureBehind(long nowNanos) {
    shared = now;
    sharedNanos = nowNanos - beganNanos;
    open = NONE;
    begin(Phase.BEHIND, nowNanos);
  }

  /** It has; what the share was compared with is known from both sides. */
  private void judgeBehind(long nowNanos) {
    if (alone.isSteady()) {
      now = shared;
      beganNanos = nowNanos - sharedNanos;
      judge(nowNanos);
    } else {
      LOG.log(
          Level.INFO,
          "offline work on {0} % of the multiprocessors: what online answers take alone has changed"
              + " meanwhile, so both are measured anew",
          sizes.percent(latest));
      alone.forget();
      measureAnew(nowNanos);
    }
  }

  /** Too few of the requests are like those that were measured alone: no size is known to fit. */
  private void isUnlike(long nowNanos) {
    LOG.log(
        Level.INFO,
        "offline work on {0} % of the multiprocessors: too few online requests can be compared",
        sizes.percent(latest));
    alone.forget();
    sizes.pause(latest, nowNanos);
    measureAnew(nowNanos);
  }

  /**
   * A stretch with what was kept is over.
   *
   * @param tells whether there was online work to compare
   */
  private void watch(boolean tells, boolean isEnough, long passed, long nowNanos) {
    if (tells && !alone.tells(now)) {
      if (passed >= LONGEST_NANOS) { // Until then more may come that can be compared.
        isUnlike(nowNanos);
      }
      return;
    }
    if (tells && isEnough) {
      measured(nowNanos);
    }
    if (tells && alone.isTooMuch(now)) {
      slowed(nowNanos);
    } else if (nowNanos - keptSinceNanos >= KEPT_NANOS) {
      measureAnew(nowNanos);
    } else {
      int larger = tells && isEnough ? fitting.untried(open, nowNanos) : NONE;
      if (larger == NONE) {
        begin(Phase.KEPT, nowNanos);
      } else {
        attempt(larger, nowNanos);
      }
    }
  }

  /** Of what is kept, what is to be open at this load. */
  private int byLoad(boolean mayGrow, long nowNanos) {
    if (!isOpen() || !fitting.fits(open, open, nowNanos)) {
      return largest(isOpen() ? open - 1 : kept, nowNanos);
    }
    return mayGrow ? fitting.grown(open, nowNanos) : open;
  }

  /** The largest that fits the load, up to one. */
  private int largest(int most, long nowNanos) {
    return fitting.largest(most, open, nowNanos);
  }

  /** Online work has not borne it, or none can tell: at this load, or at any. */
  private void slowed(long nowNanos) {
    measured(nowNanos);
    tell(alone.isTooMuch(now) ? "too much" : "perhaps too much", nowNanos);
    boolean isMuch = alone.slower(now) - 1 > FittingSizes.MARGIN * alone.allowedExcess();
    if (isMuch || !alone.isTooMuch(now)) {
      sizes.pause(latest, nowNanos);
    }
    useOrMeasureAnew(largest(latest - 1, nowNanos), nowNanos);
  }

  /** Smaller ones will not bring more. */
  private void bringsLittle(boolean isLarger, long nowNanos) {
    int next = isLarger ? NONE : fitting.untried(latest, nowNanos);
    for (int size = isLarger ? latest : 0; size <= latest; size++) {
      sizes.pause(size, nowNanos);
    }
    useOrMeasureAnew(isLarger ? largest(kept, nowNanos) : next, nowNanos);
  }

  /** Keeps what a stretch with the share and that without it have come to. */
  private void measured(long nowNanos) {
    double slower = alone.slower(now);
    double rate = now.offlineRate(nowNanos - beganNanos);
    sizes.measured(latest, slower, rate, nowNanos);
    offlineWithout = OptionalDouble.of(rateWithout);
    offlineWith = OptionalDouble.of(rate);
    onlineSlowdown = OptionalDouble.of(slower);
  }

  private void tell(String verdict, long nowNanos) {
    LOG.log(
        Level.INFO,
        "offline work on {0} % of the multiprocessors: online answers take {1} times as long as alone"
            + " at a load of {2}, offline work does {3} of what it does alone, {4} without: {5}",
        sizes.percent(latest),
        alone.slower(now),
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
    latest = size;
    open = size;
    kept = size;
    first = size;
    begin(Phase.KEPT, nowNanos);
  }

  private void attempt(int size, long nowNanos) {
    latest = size;
    open = size;
    begin(Phase.SETTLING, nowNanos);
  }

  private void measureAnew(long nowNanos) {
    open = NONE;
    begin(sizes.arePaused(first) ? Phase.PAUSE : Phase.WITHOUT, nowNanos);
  }

  private void begin(Phase next, long nowNanos) {
    phase = next;
    holds = next == Phase.ALONE || next == Phase.BEHIND;
    if (holds) {
      alone.begins(nowNanos);
    }
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
            case ALONE, SETTLING, WITH, BEHIND -> ShareOverview.State.TRYING;
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
