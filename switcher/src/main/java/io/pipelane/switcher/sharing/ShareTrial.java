package io.pipelane.switcher.sharing;

import io.pipelane.config.SharingConfig.Multiprocessors;
import java.lang.System.Logger.Level;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalDouble;

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
   * counted (SETTLING: its sessions are built then). The share pays where offline work does at least LEAST_GAIN more, by
   * what its runs usually take, and online runs take at most MOST_SLOWDOWN times as long, by kinds
   * that ran in both. Then it stays, and each further stretch is compared with that without it; after
   * KEPT both are measured anew, as load changes. Where it does not pay that is tried again after a
   * pause, which doubles each time.
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

  // Guarded by this.
  private Phase phase = Phase.WITHOUT;
  private Stretch without = new Stretch();
  private Stretch now = new Stretch();
  private long beganNanos;
  private long keptSinceNanos;
  private long pauseNanos = SHORTEST_PAUSE_NANOS;
  private boolean looked;
  private OptionalDouble offlineWithout = OptionalDouble.empty();
  private OptionalDouble offlineWith = OptionalDouble.empty();
  private OptionalDouble onlineSlowdown = OptionalDouble.empty();

  private ShareTrial(Multiprocessors rule) {
    this.rule = rule;
    this.open = rule == Multiprocessors.ALWAYS;
  }

  /** A trial that has measured nothing. */
  static ShareTrial of(Multiprocessors rule) {
    return new ShareTrial(rule);
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
        if (passed >= WINDOW_NANOS && !now.hasOnlineWork()) {
          measureAnew(nowNanos);
        } else if (passed >= WINDOW_NANOS && (now.isEnough() || slows())) {
          if (now.offline == 0 && !slows()) {
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
        if (passed >= WINDOW_NANOS) {
          if (now.hasOnlineWork() && now.isEnough()) {
            compared();
          }
          if (now.hasOnlineWork() && slows()) {
            boolean _ = pays("in use");
            pause(nowNanos);
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
    return now.slowdown(without) > MOST_SLOWDOWN;
  }

  /** Keeps what a stretch with the share and that without it have come to. */
  private void compared() {
    offlineWithout = OptionalDouble.of(without.offlineRate());
    offlineWith = OptionalDouble.of(now.offlineRate());
    onlineSlowdown = OptionalDouble.of(now.slowdown(without));
  }

  /** The gain is infinite where no offline run has ended without the share. */
  private boolean pays(String which) {
    compared();
    double slowdown = now.slowdown(without);
    double gain = now.offlineRate() > 0 ? now.offlineRate() / without.offlineRate() : 0;
    boolean pays = slowdown <= MOST_SLOWDOWN && gain >= LEAST_GAIN;
    LOG.log(
        Level.INFO,
        "offline work on some multiprocessors beside online work, {0}: online runs take {1} times as"
            + " long, offline work does {2} times as much: {3}",
        which,
        slowdown,
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
            case WITHOUT ->
                offlineWith.isPresent() ? ShareOverview.State.TRYING : ShareOverview.State.UNTRIED;
            case SETTLING, WITH -> ShareOverview.State.TRYING;
            case KEPT -> ShareOverview.State.KEPT;
            case PAUSE -> ShareOverview.State.DROPPED;
          };
    };
  }

  synchronized Phase phase() {
    return phase;
  }
}
