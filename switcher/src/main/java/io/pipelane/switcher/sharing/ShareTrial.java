package io.pipelane.switcher.sharing;

import io.pipelane.config.SharingConfig.Multiprocessors;
import java.lang.System.Logger.Level;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;

/**
 * Whether it pays to let offline work run on some of the multiprocessors while online work runs
 * (MuxFlow §4.3): measured with gates alone, and with gates and the share. {@link #look} belongs to
 * one thread, everything else is for any.
 */
public final class ShareTrial {
  /*
   * Two stretches of WINDOW, one without and one with the share, with enough online work in each;
   * longer ones where few offline runs end, up to LONGEST: they may be long, and without the share
   * there may be none, as gates let none through. What was under way when the share opened is not
   * counted (SETTLING: its sessions are built then). The share pays where offline work does at least
   * LEAST_GAIN more, by what its runs usually take, and online requests take at most as many times as
   * long as the strictest owner of a model allows, or MOST_SLOWDOWN where none says. That follows
   * from how much longer online runs take, by kinds that ran in both stretches, and from the online
   * load, at which requests wait for each other (OnlineLoad). Then the share stays, and each further
   * stretch is compared with that without it; after KEPT both are measured anew. Where it does not
   * pay that is tried again after a pause, which doubles each time.
   *
   * How much longer runs take is the pair's and stays, the load changes: a share that is kept closes
   * as soon as the load makes too much of it, and opens again, without a new trial, when it no longer
   * does, by a margin. Nor does a trial begin at a load at which what is known, or else a little
   * (SUSPECTED), would be too much; one that shows too much ends as soon as enough has run.
   */
  private static final System.Logger LOG = System.getLogger(ShareTrial.class.getName());
  private static final long SECOND = 1_000_000_000;
  private static final long WINDOW_NANOS = 5 * SECOND;
  private static final long LONGEST_NANOS = 60 * SECOND;
  private static final long SETTLING_NANOS = 2 * SECOND;
  private static final long KEPT_NANOS = 300 * SECOND;
  private static final long SHORTEST_PAUSE_NANOS = 60 * SECOND;
  private static final long LONGEST_PAUSE_NANOS = 3600 * SECOND;
  private static final int ENOUGH_ONLINE = 50;
  private static final int ENOUGH_OFFLINE = 10;
  private static final int LEAST_OF_A_KIND = 5;
  private static final int MOST_KINDS = 256;
  private static final double MOST_SLOWDOWN = 1.05;
  private static final double LEAST_GAIN = 1.02;

  /** What runs are taken to be slowed down by before that has been measured. */
  private static final double SUSPECTED = 1.02;

  /** Of the slowdown that is allowed, what may be expected where the share is to open. */
  private static final double MARGIN = 0.8;

  /** What is being measured or waited for. */
  enum Phase {
    WITHOUT,
    SETTLING,
    WITH,
    KEPT,
    PAUSE
  }

  /** How long online runs of a kind took. */
  private static final class Kind {
    private int runs;
    private double nanos;
  }

  /** What ran in a stretch of time. */
  private static final class Stretch {
    private final Map<Object, Kind> kinds = new HashMap<>();
    private int online;
    private int offline;
    private double offlineNanos;
    private double nanos;

    boolean hasOnlineWork() {
      return (double) online * WINDOW_NANOS >= (double) ENOUGH_ONLINE * nanos;
    }

    boolean isEnough() {
      return offline >= ENOUGH_OFFLINE || nanos >= LONGEST_NANOS;
    }

    double offlineRate() {
      return nanos > 0 ? offlineNanos / nanos : 0;
    }

    /** How many times as long as there online runs take here; 1 where nothing can be compared. */
    double slowdown(Stretch alone) {
      double here = 0;
      double there = 0;
      for (Map.Entry<Object, Kind> entry : kinds.entrySet()) {
        Kind with = entry.getValue();
        Kind without = alone.kinds.getOrDefault(entry.getKey(), new Kind());
        if (with.runs >= LEAST_OF_A_KIND && without.runs >= LEAST_OF_A_KIND) {
          here += with.nanos;
          there += without.nanos / without.runs * with.runs;
        }
      }
      return there > 0 ? here / there : 1;
    }
  }

  private final Multiprocessors rule;
  private volatile boolean open;
  private volatile DoubleSupplier mostSlowdown = () -> MOST_SLOWDOWN;

  // Guarded by this.
  private Phase phase = Phase.WITHOUT;
  private Stretch without = new Stretch();
  private Stretch now = new Stretch();
  private long beganNanos;
  private long keptSinceNanos;
  private long pauseNanos = SHORTEST_PAUSE_NANOS;
  private boolean looked;
  private double runsSlower = SUSPECTED;
  private final OnlineLoad load;
  private OptionalDouble offlineWithout = OptionalDouble.empty();
  private OptionalDouble offlineWith = OptionalDouble.empty();
  private OptionalDouble onlineSlowdown = OptionalDouble.empty();

  private ShareTrial(Multiprocessors rule, int lanes) {
    this.rule = rule;
    this.load = new OnlineLoad(lanes);
    this.open = rule == Multiprocessors.ALWAYS;
  }

  /**
   * A trial that has measured nothing.
   *
   * @param lanes online runs that compute at once
   */
  static ShareTrial of(Multiprocessors rule, int lanes) {
    return new ShareTrial(rule, lanes);
  }

  /** The same where one run computes at a time. */
  static ShareTrial of(Multiprocessors rule) {
    return of(rule, 1);
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
    return open;
  }

  /** An online run has ended well. */
  void onlineRan(Object kind, long nanos) {
    if (rule != Multiprocessors.MEASURED) {
      return;
    }
    synchronized (this) {
      now.online++;
      load.ran(nanos);
      if (now.kinds.size() < MOST_KINDS || now.kinds.containsKey(kind)) {
        Kind same = now.kinds.computeIfAbsent(kind, _ -> new Kind());
        same.runs++;
        same.nanos += nanos;
      }
    }
  }

  /**
   * An offline run has ended well.
   *
   * @param usualNanos what it takes with the whole device, wherever it ran
   */
  public void offlineRan(long usualNanos) {
    if (rule != Multiprocessors.MEASURED) {
      return;
    }
    synchronized (this) {
      now.offline++;
      now.offlineNanos += usualNanos;
    }
  }

  /** Goes on with what is measured; returns whether the share has opened or closed. */
  boolean look(long nowNanos) {
    if (rule != Multiprocessors.MEASURED) {
      return false;
    }
    boolean before = open;
    synchronized (this) {
      if (!looked) {
        looked = true;
        beganNanos = nowNanos;
      }
      load.look(nowNanos, open ? Math.max(1, runsSlower) : 1);
      step(nowNanos);
    }
    return open != before;
  }

  private void step(long nowNanos) {
    long passed = nowNanos - beganNanos;
    now.nanos = passed;
    switch (phase) {
      case WITHOUT -> {
        if (passed >= WINDOW_NANOS && !now.hasOnlineWork()) {
          begin(Phase.WITHOUT, nowNanos);
        } else if (passed >= WINDOW_NANOS && now.isEnough() && !fits(runsSlower)) {
          begin(Phase.WITHOUT, nowNanos);
        } else if (passed >= WINDOW_NANOS && now.isEnough()) {
          without = now;
          open = true;
          begin(Phase.SETTLING, nowNanos);
        }
      }
      case SETTLING -> {
        if (passed >= SETTLING_NANOS) {
          begin(Phase.WITH, nowNanos);
        }
      }
      case WITH -> {
        if (now.online >= ENOUGH_ONLINE && slows()) {
          slowed("on trial", nowNanos);
        } else if (passed >= WINDOW_NANOS && !now.hasOnlineWork()) {
          measureAnew(nowNanos);
        } else if (passed >= WINDOW_NANOS && now.isEnough()) {
          if (now.offline == 0) {
            measureAnew(nowNanos);
          } else if (pays("on trial")) {
            keptSinceNanos = nowNanos;
            pauseNanos = SHORTEST_PAUSE_NANOS;
            begin(Phase.KEPT, nowNanos);
          } else {
            pause(nowNanos);
          }
        }
      }
      case KEPT -> {
        if (open != fits(runsSlower)) {
          open = !open;
          begin(Phase.KEPT, nowNanos);
        } else if (passed >= WINDOW_NANOS) {
          boolean tells = open && now.hasOnlineWork();
          if (tells && now.isEnough()) {
            compared();
          }
          if (tells && slows()) {
            slowed("in use", nowNanos);
          } else if (nowNanos - keptSinceNanos >= KEPT_NANOS) {
            measureAnew(nowNanos);
          } else {
            begin(Phase.KEPT, nowNanos);
          }
        }
      }
      case PAUSE -> {
        if (passed >= pauseNanos) {
          pauseNanos = Math.min(2 * pauseNanos, LONGEST_PAUSE_NANOS);
          begin(Phase.WITHOUT, nowNanos);
        }
      }
    }
  }

  private boolean slows() {
    return load.requestsSlower(now.slowdown(without)) > mostSlowdown.getAsDouble();
  }

  /** Whether online work bears the share at its load; for a closed one by a margin. */
  private boolean fits(double slower) {
    double most = mostSlowdown.getAsDouble() - 1;
    return load.requestsSlower(slower) - 1 <= (open ? most : MARGIN * most);
  }

  /** Online work has not borne it: at this load, which it may at a lower one, or at any. */
  private void slowed(String which, long nowNanos) {
    boolean _ = pays(which);
    if (runsSlower - 1 <= MARGIN * (mostSlowdown.getAsDouble() - 1)) {
      measureAnew(nowNanos);
    } else {
      runsSlower = SUSPECTED; // The next trial, after a pause, is to show anew.
      pause(nowNanos);
    }
  }

  /** Keeps what a stretch with the share and that without it have come to. */
  private void compared() {
    offlineWithout = OptionalDouble.of(without.offlineRate());
    offlineWith = OptionalDouble.of(now.offlineRate());
    onlineSlowdown = OptionalDouble.of(now.slowdown(without));
    runsSlower = Math.max(1, now.slowdown(without));
  }

  /** The gain is infinite where no offline run has ended without the share. */
  private boolean pays(String which) {
    compared();
    double slowdown = now.slowdown(without);
    double gain = now.offlineRate() > 0 ? now.offlineRate() / without.offlineRate() : 0;
    boolean pays = !slows() && gain >= LEAST_GAIN;
    LOG.log(
        Level.INFO,
        "offline work on some multiprocessors beside online work, {0}: online runs take {1} times as"
            + " long at a load of {2}, offline work does {3} times as much: {4}",
        which,
        slowdown,
        load.load(),
        gain,
        pays ? "kept" : "off");
    return pays;
  }

  private void measureAnew(long nowNanos) {
    open = false;
    begin(Phase.WITHOUT, nowNanos);
  }

  private void pause(long nowNanos) {
    open = false;
    begin(Phase.PAUSE, nowNanos);
  }

  private void begin(Phase next, long nowNanos) {
    phase = next;
    beganNanos = nowNanos;
    now = new Stretch();
  }

  /** How far it is. */
  synchronized ShareOverview overview() {
    return new ShareOverview(state(), offlineWithout, offlineWith, onlineSlowdown);
  }

  private ShareOverview.State state() {
    return switch (rule) {
      case OFF -> ShareOverview.State.OFF;
      case ALWAYS -> ShareOverview.State.ALWAYS;
      case MEASURED ->
          switch (phase) {
            case WITHOUT -> waiting();
            case SETTLING, WITH -> ShareOverview.State.TRYING;
            case KEPT -> open ? ShareOverview.State.KEPT : ShareOverview.State.LOADED;
            case PAUSE -> ShareOverview.State.DROPPED;
          };
    };
  }

  private ShareOverview.State waiting() {
    if (!fits(runsSlower)) {
      return ShareOverview.State.LOADED;
    }
    return offlineWith.isPresent() ? ShareOverview.State.TRYING : ShareOverview.State.UNTRIED;
  }

  synchronized Phase phase() {
    return phase;
  }
}
