package io.pipelane.switcher.sharing.trial;

import io.pipelane.switcher.sharing.trial.ShareTrial.Phase;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The course of a trial: what is measured next, and what follows from it for the share and its
 * size. Not safe for several threads.
 */
final class TrialCourse {
  /*
   * Stretches of WINDOW, with enough online work in each: with gates alone (WITHOUT), with all
   * offline work held (ALONE), and with the share (WITH); the first and the third longer where few
   * offline runs end, up to LONGEST: they may be long, and gates may let none through; ALONE is longer
   * where answers differ much (OnlineAlone). What was under way when the share opened is not counted
   * (SETTLING, at least until a first run has ended: its sessions are built then). A size pays where
   * offline work does at least LEAST_GAIN more than with gates alone, or with a smaller size that
   * pays, by what its runs usually take, and online requests take at most as many times as long as
   * alone as the strictest owner of a model allows, or by default (OnlineAlone).
   *
   * Whole answers are compared, of requests that came and were answered within the stretch, with
   * those of the same model and shapes that had as many requests before them: how long these take is
   * in both, and chance is less by far. How many more wait for each other follows from the online
   * load (OnlineLoad). With gates alone offline segments end right before online runs, so that tells
   * nothing of online work alone. What may be too much by the error of the comparison is measured
   * for up to LONGEST and not kept in doubt; too few answers that can be compared are no verdict. A
   * trial does not begin at a load at which what is known or expected of the size would be too much;
   * one that shows too much ends as soon as enough has run.
   *
   * What online work takes alone may change meanwhile, most of all after a start. So before a size
   * is kept offline work stands once more, behind the share (BEHIND), unless the two stretches that
   * were measured last agree, the latter a short while ago; if these do not, that is no verdict, and
   * all is measured anew, each time later.
   *
   * Then the share stays, and each further stretch is compared with that alone, and closes it where
   * it is too much beyond the error; after KEPT, or once what is compared with is too old, all is
   * measured anew, each size that opens then. Sizes that do not pay are tried
   * again after a pause, which doubles each time. A size whose first run fails is not used, but the
   * next smaller. Offline work is held once a minute at most, by the mean, and once in KEPT while the
   * same is asked and nothing drifts.
   */
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

  private final ShareSizes sizes;
  private final OnlineLoad load;
  private final OnlineAlone alone;
  private final SizeChoice choice;
  private final TrialFigures figures;
  private Phase phase = Phase.WITHOUT;
  private int failed = NONE;
  private double rateWithout;
  private Stretch now = new Stretch();
  private @Nullable SharedStretch before; // what is judged once alone is measured behind it
  private long beganNanos;
  private long keptSinceNanos;
  private boolean looked;

  /**
   * Nothing is measured yet.
   *
   * @param first the size that is tried first
   */
  TrialCourse(ShareSizes sizes, int first, OnlineLoad load, OnlineAlone alone) {
    this.sizes = sizes;
    this.load = load;
    this.alone = alone;
    this.choice = new SizeChoice(sizes, new FittingSizes(sizes, load, alone), first);
    this.figures = new TrialFigures(sizes, load, alone);
  }

  /** The size that the share has now; negative for none. */
  int open() {
    return choice.open();
  }

  /** Whether all offline work is to stand. */
  boolean holdsOffline() {
    return phase == Phase.ALONE || phase == Phase.BEHIND;
  }

  Phase phase() {
    return phase;
  }

  /** An online run has ended well. */
  void onlineRan(long nanos) {
    load.ran(nanos);
  }

  /** An online request has been answered well, so long after it came. */
  void onlineAnswered(Object kind, long cameNanos, long nanos) {
    if (looked && cameNanos - beganNanos >= 0) { // Else it met what was before.
      now.onlineAnswered(kind, nanos);
    }
  }

  /** An offline run has ended well that takes so long with the whole device. */
  void offlineRan(long usualNanos) {
    now.offlineRan(usualNanos);
  }

  /** It had the share, of a size. */
  void ranWell(int size) {
    sizes.ran(size);
  }

  /** One has failed that had the share, of a size; perhaps that is to blame. */
  void offlineFailed(int size) {
    if (!sizes.isProven(size)) {
      failed = size;
    }
  }

  /** Goes on. */
  void look(long nowNanos) {
    if (!looked) {
      looked = true;
      beganNanos = nowNanos;
    }
    load.look(nowNanos, choice.isOpen() ? sizes.slower(choice.open(), nowNanos) : 1);
    sizes.look(nowNanos);
    if (!fellBack(nowNanos)) {
      step(nowNanos);
    }
  }

  /** From a size whose first run has failed, where there is a smaller one. */
  private boolean fellBack(long nowNanos) {
    int size = choice.open();
    boolean fallsBack = failed != NONE && failed == size && failed > 0;
    failed = NONE;
    if (fallsBack) {
      figures.tellFailing(size);
      sizes.pause(size, nowNanos);
      useOrMeasureAnew(choice.smaller(size, nowNanos), nowNanos);
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
            measuredAlone(nowNanos);
          }
          tryOrMeasureAlone(nowNanos);
        }
      }
      case SETTLING -> {
        boolean hasRun = sizes.isProven(choice.open()) || passed >= LONGEST_SETTLING_NANOS;
        if (passed >= SETTLING_NANOS && hasRun) {
          begin(Phase.WITH, nowNanos);
        }
      }
      case WITH -> {
        boolean isTold = !alone.mayBeTooMuch(now) || passed >= LONGEST_NANOS;
        if (alone.isTooMuch(now)) {
          slowed(shared(nowNanos), nowNanos);
        } else if (isOver && !hasOnlineWork) {
          measureAnew(nowNanos);
        } else if (isOver && isEnough && isTold) {
          judge(shared(nowNanos), nowNanos);
        }
      }
      case BEHIND -> {
        if (isOver && !hasOnlineWork) {
          alone.forget();
          measureAnew(nowNanos);
        } else if (isOver && alone.isEnough(now, passed)) {
          alone.measured(now, nowNanos);
          judgeBehind(Objects.requireNonNull(before, "it stands behind one"), nowNanos);
        }
      }
      case KEPT -> {
        int size = choice.byLoad(isOver, nowNanos);
        if (isOutdated(nowNanos)) {
          measureAnew(nowNanos);
        } else if (size != choice.open()) {
          use(size, nowNanos);
        } else if (isOver) {
          watch(choice.isOpen() && hasOnlineWork, isEnough, passed, nowNanos);
        }
      }
      case PAUSE -> {
        if (!choice.arePaused()) {
          begin(Phase.WITHOUT, nowNanos);
        }
      }
    }
  }

  /** Has offline work stand for a while, unless that was so lately, before the first size. */
  private void tryOrMeasureAlone(long nowNanos) {
    int size = choice.first(nowNanos);
    if (size != NONE && alone.isKnown(nowNanos)) {
      choice.forgetKept();
      attempt(size, nowNanos);
    } else {
      begin(size != NONE && alone.mayBegin(nowNanos) ? Phase.ALONE : Phase.WITHOUT, nowNanos);
    }
  }

  /** Offline work has stood for long enough. */
  private void measuredAlone(long nowNanos) {
    if (alone.isComparable(now)) {
      alone.measured(now, nowNanos);
    } else {
      figures.tellAllDifferent();
      alone.foundUseless(nowNanos);
    }
  }

  /** What the stretch under way has come to, with the share that is open. */
  private SharedStretch shared(long nowNanos) {
    return new SharedStretch(choice.open(), now, now.offlineRate(nowNanos - beganNanos));
  }

  /** A size has been on trial for long enough to tell. */
  private void judge(SharedStretch with, long nowNanos) {
    int size = with.size();
    if (with.answers().offline() == 0) {
      measureAnew(nowNanos);
    } else if (!alone.tells(with.answers())) {
      foundUnlike(size, nowNanos);
    } else if (alone.mayBeTooMuch(with.answers())) {
      slowed(with, nowNanos);
    } else if (with.offlineRate() < LEAST_GAIN * choice.rateBefore(size, rateWithout)) {
      compared(with, nowNanos);
      figures.tell(with, rateWithout, "too little");
      useOrMeasureAnew(choice.insteadOf(size, nowNanos), nowNanos);
    } else if (!alone.isSteady(nowNanos)) {
      before = with;
      choice.open(NONE);
      begin(Phase.BEHIND, nowNanos);
    } else {
      compared(with, nowNanos);
      figures.tell(with, rateWithout, "kept");
      keptSinceNanos = choice.hasKept() ? keptSinceNanos : nowNanos;
      sizes.pays(size);
      keep(size, nowNanos);
    }
  }

  /** What a share was compared with is known from both sides. */
  private void judgeBehind(SharedStretch with, long nowNanos) {
    if (alone.isSteady(nowNanos)) {
      judge(with, nowNanos);
    } else {
      figures.tellChanged(with.size());
      alone.foundUseless(nowNanos);
      measureAnew(nowNanos);
    }
  }

  /** Too few of the requests are like those that were measured alone: no size is known to fit. */
  private void foundUnlike(int size, long nowNanos) {
    figures.tellUnlike(size);
    alone.forget();
    sizes.pause(size, nowNanos);
    measureAnew(nowNanos);
  }

  /** Whether what is kept, or what it was compared with, is to be measured anew. */
  private boolean isOutdated(long nowNanos) {
    return nowNanos - keptSinceNanos >= KEPT_NANOS || !alone.isKnown(nowNanos);
  }

  /**
   * A stretch with what was kept is over.
   *
   * @param tells whether there was online work to compare
   */
  private void watch(boolean tells, boolean isEnough, long passed, long nowNanos) {
    if (tells && !alone.tells(now)) {
      if (passed >= LONGEST_NANOS) { // Until then more may come that can be compared.
        foundUnlike(choice.open(), nowNanos);
      }
      return;
    }
    if (tells && isEnough) {
      compared(shared(nowNanos), nowNanos);
    }
    if (tells && alone.isTooMuch(now)) {
      slowed(shared(nowNanos), nowNanos);
    } else {
      int larger = tells && isEnough ? choice.larger(choice.open(), nowNanos) : NONE;
      if (larger == NONE) {
        begin(Phase.KEPT, nowNanos);
      } else {
        attempt(larger, nowNanos);
      }
    }
  }

  /** Online work has not borne it, or none can tell: at this load, or at any. */
  private void slowed(SharedStretch with, long nowNanos) {
    compared(with, nowNanos);
    boolean isTooMuch = alone.isTooMuch(with.answers());
    figures.tell(with, rateWithout, isTooMuch ? "too much" : "perhaps too much");
    double excess = alone.slower(with.answers()) - 1;
    if (excess > FittingSizes.MARGIN * alone.allowedExcess() || !isTooMuch) {
      sizes.pause(with.size(), nowNanos);
    }
    useOrMeasureAnew(choice.smaller(with.size(), nowNanos), nowNanos);
  }

  /** Keeps what a stretch with the share and that without it have come to. */
  private void compared(SharedStretch with, long nowNanos) {
    double slower = alone.slower(with.answers());
    sizes.measured(with.size(), slower, with.offlineRate(), nowNanos);
    figures.compared(rateWithout, with, slower);
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
      choice.open(NONE);
      begin(Phase.KEPT, nowNanos);
    } else if (sizes.isKnownToPay(size)) {
      keep(size, nowNanos);
    } else {
      attempt(size, nowNanos);
    }
  }

  private void keep(int size, long nowNanos) {
    choice.keep(size);
    begin(Phase.KEPT, nowNanos);
  }

  private void attempt(int size, long nowNanos) {
    choice.open(size);
    begin(Phase.SETTLING, nowNanos);
  }

  private void measureAnew(long nowNanos) {
    choice.open(NONE);
    begin(choice.arePaused() ? Phase.PAUSE : Phase.WITHOUT, nowNanos);
  }

  private void begin(Phase next, long nowNanos) {
    phase = next;
    if (holdsOffline()) {
      alone.begins(nowNanos);
    }
    beganNanos = nowNanos;
    now = new Stretch();
  }

  /** How far it is. */
  ShareOverview overview() {
    return overview(state(), open());
  }

  /** The same where a rule says what is open. */
  ShareOverview overview(ShareOverview.State state, int size) {
    return figures.overview(state, size);
  }

  private ShareOverview.State state() {
    return switch (phase) {
      case WITHOUT -> waiting();
      case ALONE, SETTLING, WITH, BEHIND -> ShareOverview.State.TRYING;
      case KEPT -> choice.isOpen() ? ShareOverview.State.KEPT : ShareOverview.State.LOADED;
      case PAUSE -> ShareOverview.State.DROPPED;
    };
  }

  private ShareOverview.State waiting() {
    if (choice.first(beganNanos) == NONE) {
      return ShareOverview.State.LOADED;
    }
    return figures.areThere() ? ShareOverview.State.TRYING : ShareOverview.State.UNTRIED;
  }
}
