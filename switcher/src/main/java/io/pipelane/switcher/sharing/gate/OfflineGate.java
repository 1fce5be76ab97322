package io.pipelane.switcher.sharing.gate;

import io.pipelane.switcher.sharing.monitor.SharingState;
import io.pipelane.switcher.sharing.trial.ShareTrial;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The gate that offline work passes: asked before a run begins, and at each of its gates before the
 * next segment. Safe for any thread.
 */
public final class OfflineGate {
  /*
   * The rules apply in this order. What online work waits for must come free. An overloaded device
   * takes no offline segment, nor does one on which online work is measured alone. While online
   * work is in flight offline work gets its least share, none by default; otherwise the throttle's
   * share. A share is kept by a pause after each segment, in proportion to its time. Last, a
   * segment that would run into an online request that is expected waits for that.
   *
   * Whatever opens or closes it tells the listeners. What a time alone opens, the end of a stretch
   * in which online work is measured alone, is told by an alarm: runs in other processes have
   * nobody who would ask again then, and who looks at the device may come back no more.
   *
   * The run in the lane that keeps to a share of the device passes the ShareGate alone.
   */

  /** What is said while only somebody else can open the gate. */
  public static final long UNTIL_TOLD = Long.MAX_VALUE;

  private final boolean active;
  private final double leastShare;
  private final int mostRuns;
  private final OnlineWork online;
  private final ShareTrial trial;
  private final DeviceAllowance allowance;
  private final ShareGate share;
  private final OnlineCost cost;
  private final OfflineRuns runs = new OfflineRuns();
  private final RunTime runTime = new RunTime();
  private final LongSupplier nanoClock;
  private final Alarm alarm;
  private volatile Runnable whenOpened = () -> {};
  private volatile Runnable whenClosed = () -> {};

  /**
   * An open gate of a device that is not shared out.
   *
   * @param active whether it is ever closed
   * @param leastShare of its own speed, what offline work keeps while online work is in flight
   * @param mostRuns of offline work that may have begun and not ended
   */
  public OfflineGate(
      boolean active, double leastShare, int mostRuns, OnlineWork online, LongSupplier nanoClock) {
    this(active, leastShare, mostRuns, online, ShareTrial.off(), nanoClock);
  }

  /**
   * An open gate.
   *
   * @param trial says whether a share of the device is offline work's while online work runs; while
   *     it is, there is nothing else for it where the gate is not active
   */
  public OfflineGate(
      boolean active,
      double leastShare,
      int mostRuns,
      OnlineWork online,
      ShareTrial trial,
      LongSupplier nanoClock) {
    this(active, leastShare, mostRuns, online, trial, nanoClock, Alarm.SYSTEM);
  }

  /** The same with an alarm of the clock's. */
  OfflineGate(
      boolean active,
      double leastShare,
      int mostRuns,
      OnlineWork online,
      ShareTrial trial,
      LongSupplier nanoClock,
      Alarm alarm) {
    this.active = active;
    this.leastShare = leastShare;
    this.mostRuns = mostRuns;
    this.online = online;
    this.trial = trial;
    this.nanoClock = nanoClock;
    this.alarm = alarm;
    this.allowance = new DeviceAllowance(trial, nanoClock);
    this.share = new ShareGate(!active, trial, allowance, online, runs);
    this.cost = new OnlineCost(online, runs, trial, nanoClock);
    online.onIdle(this::tell);
    online.onBusy(this::tellClosed);
  }

  /** A gate that is always open. */
  public static OfflineGate open(LongSupplier nanoClock) {
    return new OfflineGate(false, 0, Integer.MAX_VALUE, new OnlineWork(), nanoClock);
  }

  /** The online work that it heeds. */
  public OnlineWork online() {
    return online;
  }

  /** What that loses by what passes here. */
  public OnlineCost cost() {
    return cost;
  }

  /** The offline runs that have begun, whichever gate they pass. */
  public OfflineRuns runs() {
    return runs;
  }

  /** How long runs have computed, online and offline. */
  public RunTime runTime() {
    return runTime;
  }

  /** Whether a share of the device pays; told what runs take. */
  public ShareTrial trial() {
    return trial;
  }

  /** What the run passes that keeps to a share of the device. */
  public ShareGate share() {
    return share;
  }

  /**
   * Has one more told, on any thread, that it may have opened, or let more through; before there is
   * work.
   */
  public void onOpened(Runnable listener) {
    whenOpened = both(whenOpened, listener);
  }

  /**
   * Has one more told, on any thread, that it may have closed, or let less through; before there is
   * work.
   */
  public void onClosed(Runnable listener) {
    whenClosed = both(whenClosed, listener);
  }

  private static Runnable both(Runnable first, Runnable second) {
    return () -> {
      first.run();
      second.run();
    };
  }

  private void tellClosed() {
    if (active || trial.hasShare()) {
      whenClosed.run();
    }
  }

  private void tell() {
    if (active || trial.hasShare()) {
      whenOpened.run();
    }
  }

  /** Whether offline runs are ever held here. */
  public boolean isActive() {
    return active;
  }

  /** Whether it is closed at times, and not open for good. */
  private boolean heeds() {
    return active && !allowance.isOver();
  }

  /** Whether the device's state holds offline runs, as far as it is bad enough. */
  public boolean heedsState() {
    return heeds() && !allowance.isLifted();
  }

  /** Whether an online request that comes stops every offline run, whoever had told it to go on. */
  public boolean stopsForOnline() {
    return heeds() && leastShare == 0;
  }

  /** Whether an offline run may begin now, whatever else is under way. */
  public boolean mayBeginOnCredit() {
    return !share.isOnlyWay() && (!heeds() || (allowance.takesRuns() && runs.inTurns() < mostRuns));
  }

  /** Whether an offline run that nobody owes anything may begin now. */
  public boolean mayBegin() {
    return mayBeginOnCredit() && (!heeds() || !online.isInFlight());
  }

  /**
   * What an offline run may have of its own speed now: 1 for all, 0 while only somebody else can
   * open the gate.
   */
  public double allowed() {
    if (!heeds() || online.isWaitingForMemory()) {
      return 1;
    }
    return allowance.holdsNanos() > 0 ? 0 : speed();
  }

  /** What it may have, but for what is measured. */
  private double speed() {
    double most = allowance.speed();
    return online.isInFlight() ? Math.min(leastShare, most) : most;
  }

  /**
   * How long the next segment of a run has to wait before it asks again; 0 for not at all, {@link
   * #UNTIL_TOLD} for until the listener is told.
   *
   * @param segmentNanos what the run's latest segment took; 0 for its first
   * @param endedNanos when that ended
   */
  public long waitNanos(long segmentNanos, long endedNanos) {
    if (!heeds() || online.isWaitingForMemory()) {
      return 0;
    }
    long held = allowance.holdsNanos();
    if (held > 0) {
      return held;
    }
    double allowed = speed();
    if (allowed <= 0) {
      return UNTIL_TOLD;
    }
    long now = nanoClock.getAsLong();
    long pause = (long) (segmentNanos * (1 / allowed - 1)) - (now - endedNanos);
    if (pause > 0) {
      return pause;
    }
    return allowance.isLifted() || online.isInFlight()
        ? 0
        : online.expectedWaitNanos(segmentNanos, now);
  }

  /**
   * The online request that segments are to wait for which would run into it, for who cannot ask
   * {@link #waitNanos}; null where there is none. It changes whenever the listeners are told.
   */
  public @Nullable ExpectedArrival expected() {
    return heeds() && !allowance.isLifted() && !online.isWaitingForMemory()
        ? online.expected()
        : null;
  }

  /** Whether nobody online has asked for anything lately, so that nobody is to be expected. */
  public boolean isQuiet() {
    return !active || online.isQuiet(nanoClock.getAsLong());
  }

  /** An offline run begins. */
  public void begin(OfflineRun run) {
    runs.begin(run);
  }

  /** One has ended. */
  public void end(OfflineRun run) {
    runs.end(run);
    tell();
  }

  /** The device's state, from now on. */
  public void setState(SharingState now) {
    if (allowance.setState(now)) {
      tellClosed();
      tell();
    }
  }

  /** What the throttle lets offline work have of its own speed from now on; 0 stops it. */
  public void setShare(double now) {
    double before = allowance.setShare(now);
    if (now > before) {
      tell();
    } else if (now < before) {
      tellClosed();
    }
  }

  /** Looks whether a share of the device pays; by the thread that looks at the device. */
  public void lookAtTrial(long nowNanos) {
    if (trial.look(nowNanos)) {
      tellClosed();
      tellAsTimePasses();
    }
  }

  /** Tells now, and when the time is over for which all offline work stands. */
  private void tellAsTimePasses() {
    tell();
    long holds = allowance.holdsNanos();
    if (holds > 0) {
      alarm.after(holds, this::tellAsTimePasses);
    }
  }

  /** From now on online work in flight alone holds offline work: what was taken is to end soon. */
  public void lift() {
    allowance.lift();
    tell();
    tellClosed();
  }

  /** Opens for good: what was taken is to come to its end. */
  public void close() {
    allowance.end();
    tell();
  }
}
