package io.pipelane.switcher.sharing.trial;

import io.pipelane.config.section.SharingConfig.Multiprocessors;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.Supplier;

/**
 * The trial whether it pays to let offline work run on some of the multiprocessors while online
 * work runs, and on how many (MuxFlow §4.3). Offline work is measured with gates alone, and with
 * gates and the share. Online work is measured with the share, and while offline work stands.
 * {@link #look} belongs to one thread, everything else is for any.
 */
public final class ShareTrial {
  /*
   * What is measured, and what follows, is the course's (TrialCourse), under this lock. What runs
   * ask all the time, whether the share is open and whether they are to stand, is kept beside it and
   * changes with a look.
   */
  private static final int NONE = FittingSizes.NONE;

  /** The thing that is being measured or waited for. */
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
  private final OnlineAlone alone;
  private final TrialCourse course; // guarded by this
  private volatile int open;
  private volatile boolean holds;
  private volatile long holdsUntilNanos; // written before it holds

  private ShareTrial(Multiprocessors rule, ShareSizes sizes, int first, int lanes) {
    this.rule = rule;
    OnlineLoad load = new OnlineLoad(lanes);
    this.alone = new OnlineAlone(load);
    this.course = new TrialCourse(sizes, first, load, alone);
    this.open = rule == Multiprocessors.ALWAYS ? 0 : NONE;
  }

  /**
   * A trial that has measured nothing.
   *
   * @param percents the sizes that the share may have, ascending
   * @param usual the percentage that is tried first, or else the next smaller one
   * @param lanes online runs that compute at once
   */
  public static ShareTrial of(Multiprocessors rule, List<Integer> percents, int usual, int lanes) {
    ShareSizes sizes = new ShareSizes(percents);
    return percents.isEmpty() ? off() : new ShareTrial(rule, sizes, sizes.atMost(usual), lanes);
  }

  /** There is no share. */
  public static ShareTrial off() {
    return new ShareTrial(Multiprocessors.OFF, new ShareSizes(List.of()), NONE, 1);
  }

  /** Has it keep to what the owners of models allow, if any says. */
  public void keepTo(Supplier<OptionalDouble> strictest) {
    alone.keepTo(strictest);
  }

  /** Whether there is a share at all, open or not. */
  public boolean hasShare() {
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

  /** Whether online work alone is being measured: what offline work is beside does not count. */
  public boolean holdsOffline() {
    return holds;
  }

  /**
   * How long all offline work is to stand from now on, to be compared with, if nobody says
   * otherwise before; 0 for not at all.
   */
  public long holdsOfflineNanos(long nowNanos) {
    return holds ? Math.max(0, holdsUntilNanos - nowNanos) : 0;
  }

  /** Whether it is told of answers. */
  public boolean compares() {
    return rule == Multiprocessors.MEASURED;
  }

  /** An online run has ended well. */
  public void onlineRan(long nanos) {
    if (compares()) {
      synchronized (this) {
        course.onlineRan(nanos);
      }
    }
  }

  /** An online request has been answered well, so long after it came. */
  public void onlineAnswered(Object kind, long cameNanos, long nanos) {
    if (compares()) {
      synchronized (this) {
        course.onlineAnswered(kind, cameNanos, nanos);
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
        course.offlineRan(usualNanos);
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
        course.offlineRan(usualNanos);
        course.ranWell(size);
      }
    }
  }

  /** One has failed that had the share, of a size; perhaps that is to blame. */
  public void offlineFailed(int size) {
    if (compares()) {
      synchronized (this) {
        course.offlineFailed(size);
      }
    }
  }

  /** Goes on with what is measured; returns whether offline work may do anything else now. */
  public boolean look(long nowNanos) {
    if (!compares()) {
      return false;
    }
    synchronized (this) {
      course.look(nowNanos);
      boolean changes = open != course.open() || holds != course.holdsOffline();
      open = course.open();
      holdsUntilNanos = alone.heldUntilNanos();
      holds = course.holdsOffline();
      return changes;
    }
  }

  /** How far it is. */
  public synchronized ShareOverview overview() {
    return switch (rule) {
      case OFF -> course.overview(ShareOverview.State.OFF, NONE);
      case ALWAYS -> course.overview(ShareOverview.State.ALWAYS, open);
      case MEASURED -> course.overview();
    };
  }

  synchronized Phase phase() {
    return course.phase();
  }
}
