package io.pipelane.switcher.sharing.trial;

import java.util.OptionalDouble;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;

/**
 * What online answers take while offline work stands, and whether others take too much longer. Not
 * safe for several threads, but for {@link #keepTo}.
 */
final class OnlineAlone {
  /*
   * What drifts (code that is compiled yet, captures, clocks) makes what was measured before a share
   * too slow for it. So two stretches in a row have to agree before it is steady, that is, not to
   * differ by more than half of what is allowed, beyond their error; the faster of them counts. What
   * they agree on may have drifted a while after, so it stays steady for STEADY only.
   *
   * Each time offline work stands takes a time after it, so it is once in that at most, by the mean:
   * SHORTEST_APART, and twice as long with each measurement that was of no use, up to LONGEST_APART;
   * and half of that with each two stretches that agree.
   */
  private static final long STAYS_NANOS = 300L * 1_000_000_000;
  private static final long LONGEST_NANOS = 10L * 1_000_000_000;
  private static final long HELD_NANOS = 2 * LONGEST_NANOS;
  private static final long STEADY_NANOS = 60L * 1_000_000_000;
  private static final long SHORTEST_APART_NANOS = 60L * 1_000_000_000;
  private static final long LONGEST_APART_NANOS = 16 * SHORTEST_APART_NANOS;
  private static final int ENOUGH_COMPARED = 25;

  /** What is allowed where no owner of a model says. */
  private static final double MOST_SLOWDOWN = 1.05;

  private final OnlineLoad load;
  private volatile DoubleSupplier most = () -> MOST_SLOWDOWN;
  private Stretch latest = new Stretch();
  private Stretch alone = latest; // that, or the one before
  private boolean known;
  private boolean steady;
  private long knownNanos;
  private boolean hasBegun;
  private long mayBeginNanos;
  private long heldUntilNanos;
  private long apartNanos = SHORTEST_APART_NANOS;

  /** Nothing is known; requests wait for each other by a load. */
  OnlineAlone(OnlineLoad load) {
    this.load = load;
  }

  /** Goes by what the owners of models allow, if any says. */
  void keepTo(Supplier<OptionalDouble> strictest) {
    most = () -> strictest.get().orElse(MOST_SLOWDOWN);
  }

  /** That was measured just now. */
  void measured(Stretch stretch, long nowNanos) {
    Comparison change = stretch.with(latest);
    double borne = allowedExcess() / 2;
    steady =
        change.answers() >= ENOUGH_COMPARED
            && change.atLeast() <= 1 + borne
            && change.atMost() >= 1 - borne;
    if (steady) {
      apartNanos = Math.max(apartNanos / 2, SHORTEST_APART_NANOS);
    }
    alone = steady && change.slower() > 1 ? latest : stretch;
    latest = stretch;
    known = true;
    knownNanos = nowNanos;
  }

  /** Whether the two stretches that were measured last agree, the latter a short while ago. */
  boolean isSteady(long nowNanos) {
    return steady && nowNanos - knownNanos < STEADY_NANOS;
  }

  /** Whether offline work may be made to stand: that was not so lately. */
  boolean mayBegin(long nowNanos) {
    return !hasBegun || nowNanos - mayBeginNanos >= 0;
  }

  /** It does, from now on. */
  void begins(long nowNanos) {
    mayBeginNanos = apartNanos + (mayBegin(nowNanos) ? nowNanos : mayBeginNanos);
    heldUntilNanos = nowNanos + HELD_NANOS;
    hasBegun = true;
  }

  /** When it goes on, having stood since {@link #begins}, if nobody says so before. */
  long heldUntilNanos() {
    return heldUntilNanos;
  }

  /** Whether it has for long enough: chance is small beside what is allowed, or time is up. */
  boolean isEnough(Stretch stretch, long passedNanos) {
    boolean tells = isComparable(stretch) && stretch.with(stretch).error() <= allowedExcess() / 2;
    return tells || passedNanos >= LONGEST_NANOS;
  }

  /** Whether answers like those in it could be compared with them at all. */
  boolean isComparable(Stretch stretch) {
    return stretch.with(stretch).answers() >= ENOUGH_COMPARED;
  }

  /** Others ask now, or they take another time. */
  void forget() {
    known = false;
    steady = false;
  }

  /** What was measured is of no use: it is measured again later than the last time. */
  void foundUseless(long nowNanos) {
    forget();
    apartNanos = Math.min(2 * apartNanos, LONGEST_APART_NANOS);
    mayBeginNanos = Math.max(mayBeginNanos - nowNanos, apartNanos) + nowNanos;
  }

  /** Whether it was measured lately. */
  boolean isKnown(long nowNanos) {
    return known && nowNanos - knownNanos < STAYS_NANOS;
  }

  /** How many times as long as alone requests may take, less one. */
  double allowedExcess() {
    return most.getAsDouble() - 1;
  }

  /** How many times as long as alone answers take, of requests with as many before them. */
  double slower(Stretch beside) {
    return beside.with(alone).slower();
  }

  /** Whether enough of the answers can be compared. */
  boolean tells(Stretch beside) {
    return beside.with(alone).answers() >= ENOUGH_COMPARED;
  }

  /** Whether requests take too much longer, beyond the error of what was measured. */
  boolean isTooMuch(Stretch beside) {
    return tells(beside) && exceeds(beside.with(alone).atLeast());
  }

  /** Whether they may, within that, or nobody can tell. */
  boolean mayBeTooMuch(Stretch beside) {
    return !tells(beside) || exceeds(beside.with(alone).atMost());
  }

  private boolean exceeds(double slower) {
    return load.requestsSlower(slower) > most.getAsDouble();
  }
}
