package io.pipelane.switcher.residency;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A model as a residency policy sees it: how often it is used, what its pages save, and how many of
 * them are on the device. Changed through {@link Holdings} only.
 */
public final class Holding {
  /** After that, an online use counts for next to nothing. */
  private static final int HALF_LIVES_ONLINE = 4;

  final int id;
  Usage usage;
  StallCurve curve;
  int pages;

  /** Read by any thread. */
  private volatile long stallNanos;

  /** What it would lose for certain. Read by any thread. */
  private volatile long leastStallNanos;

  /** Whether other models may bring pages of its own, or hold them already. */
  private boolean shared;

  /** What a run would lose if nothing were here. Read by any thread. */
  private volatile double wholeNanos;

  /** What it is a part of, alone of no use. */
  private @Nullable Unit unit;

  /** Whether nobody online uses it here. */
  boolean offline = true;

  /** Uses on other devices, which read it here; null where none is known of. */
  @Nullable Usage elsewhere;

  /** When it was used online last. */
  long lastOnlineNanos;

  /** A policy's own note of the latest use. */
  double noted;

  /** The place in the order of giving way: before all that online work needs, then by worth. */
  boolean givesWayFirst;

  double worth;

  Holding(int id, StallCurve curve, Usage usage) {
    this.id = id;
    this.curve = curve;
    this.usage = usage;
    publish();
  }

  /** Has other threads see what has changed. */
  void publish() {
    stallNanos = (long) curve.nanos(pages);
    leastStallNanos = shared ? 0 : (long) curve.leastNanos(pages);
    wholeNanos = curve.nanos(0);
  }

  /** Others have pages that are alike. */
  void shares() {
    shared = true;
    publish();
  }

  double wholeNanos() {
    return wholeNanos;
  }

  void joins(Unit one) {
    unit = one;
  }

  /** What it is a part of; null where it stands for itself. */
  public @Nullable Unit unit() {
    return unit == null || unit.hasEnded() ? null : unit;
  }

  /** What the last page here saves a run; all pages of a unit's part are worth the same. */
  double gainOfLastNanos() {
    @Nullable Unit whole = unit();
    return whole == null ? curve.gainNanos(pages - 1) : whole.stallNanos() / pages;
  }

  /** What a run loses when the policy takes as few pages as it can: one, or all of a unit. */
  double givingWayNanos() {
    @Nullable Unit whole = unit();
    return whole == null ? curve.gainNanos(pages - 1) : whole.stallNanos();
  }

  /** What a run would wait longer without so many of the pages here. */
  double lossNanos(int taken) {
    @Nullable Unit whole = unit();
    return whole == null ? curve.nanos(pages - taken) - curve.nanos(pages) : whole.stallNanos();
  }

  /** What a run would lose by missing pages if it began now; for any thread. */
  public long stallNanos() {
    return stallNanos;
  }

  /**
   * What it loses at least, whatever is fetched before it begins: the bytes have to come over the
   * link all the same. 0 where other models may bring them. For any thread.
   */
  public long leastStallNanos() {
    return leastStallNanos;
  }

  /** What a run would lose by missing pages if none were here; for any thread. */
  public long wholeStallNanos() {
    return (long) wholeNanos;
  }

  /** Whether offline work alone uses the model. */
  public boolean isOffline() {
    return offline;
  }

  /**
   * Its class once somebody uses it: offline work makes it offline's only when online work has not
   * used it for long. What was counted in the other class counts no longer.
   *
   * @return whether the use counts; offline ones of an online model do not
   */
  boolean usedBy(Priority priority, long nowNanos, Duration halfLife) {
    boolean online = priority == Priority.ONLINE;
    if (online) {
      lastOnlineNanos = nowNanos;
    }
    boolean becomesOnline = offline && online;
    boolean becomesOffline =
        !offline && !online && nowNanos - lastOnlineNanos > HALF_LIVES_ONLINE * halfLife.toNanos();
    if (becomesOnline || becomesOffline) {
      offline = becomesOffline;
      usage = new Usage(halfLife, nowNanos);
    }
    return online || offline;
  }

  /** What its pages save. */
  public StallCurve curve() {
    return curve;
  }

  public Usage usage() {
    return usage;
  }

  /** Leading pages that are on the device. */
  public int pages() {
    return pages;
  }

  /** Uses per second, lately, by those for whom it is kept. */
  double keptForPerSecond(long nowNanos) {
    double here = isKeptForHere() ? usage.perSecond(nowNanos) : 0;
    return elsewhere == null ? here : here + elsewhere.perSecond(nowNanos);
  }

  /** The logarithm of their count, see {@link Usage#logarithmAt}. */
  double keptForLogarithm(long originNanos) {
    double here = isKeptForHere() ? usage.logarithmAt(originNanos) : Double.NEGATIVE_INFINITY;
    return elsewhere == null ? here : Usage.sum(here, elsewhere.logarithmAt(originNanos));
  }

  /** What offline work does here counts for nothing beside others' online work. */
  private boolean isKeptForHere() {
    return !offline || elsewhere == null;
  }
}
