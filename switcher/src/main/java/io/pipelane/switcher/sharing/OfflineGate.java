package io.pipelane.switcher.sharing;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether offline work may go on: asked before a run begins, and at each of its gates before the
 * next segment. Safe for any thread.
 */
public final class OfflineGate {
  /*
   * In this order: what online work waits for must come free; an overloaded device takes no offline
   * segment, nor does one on which online work is measured alone; while online work is in flight offline gets its least share, none by default; otherwise
   * the throttle's. A share is kept by a pause after each segment, in proportion to its time. Last,
   * a segment that would run into an online request that is expected waits for that.
   *
   * The run in the lane that keeps to a share of the device passes allowsShare alone: it begins
   * beside online work, while that pays (ShareTrial). It cannot go on elsewhere, so once it has
   * begun it goes on to its end, whether the share is closed meanwhile or online work ends.
   */

  private static final long UNDER_WAY = -1;

  /** Of its own speed: where the throttle leaves less, nothing runs beside online work. */
  private static final double LEAST_SPEED = 0.5;

  /** What is said while only somebody else can open the gate. */
  public static final long UNTIL_TOLD = Long.MAX_VALUE;

  private final boolean active;
  private final double leastShare;
  private final int mostRuns;
  private final OnlineWork online;
  private final Slowdowns slowdowns;
  private final ShareTrial trial;
  private final RunTime runTime = new RunTime();
  private final LongSupplier nanoClock;
  private final List<OfflineRun> runs = new CopyOnWriteArrayList<>();
  private final AtomicLong goes = new AtomicLong();
  private final LongAdder ended = new LongAdder();
  private final LongAdder heldNanos = new LongAdder();
  private final LongAdder madeWay = new LongAdder();
  private volatile SharingState state = SharingState.HEALTHY;
  private volatile double share = 1;
  private volatile boolean lifted;
  private volatile boolean closed;
  private volatile @Nullable OfflineRun shareRun;
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
    this.active = active;
    this.trial = trial;
    this.leastShare = leastShare;
    this.mostRuns = mostRuns;
    this.online = online;
    this.nanoClock = nanoClock;
    this.slowdowns = new Slowdowns(nanoClock.getAsLong());
    trial.keepTo(slowdowns::strictest);
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

  /** What online runs are told to that end, of models that may only be slowed down so much. */
  public Slowdowns slowdowns() {
    return slowdowns;
  }

  /** An offline run that has begun and not ended. */
  @FunctionalInterface
  public interface OfflineRun {
    /**
     * Whether it computes nothing, being held at a gate or waiting for memory, and goes on only
     * after {@link #goesOn}; for any thread. A run that was stopped computes on to its next gate.
     */
    boolean stands();
  }

  /** Whether an offline run computes now, or may at any time. */
  boolean isOfflineUnderWay() {
    @Nullable OfflineRun beside = shareRun;
    return (beside != null && !beside.stands()) || runs.stream().anyMatch(run -> !run.stands());
  }

  /** Whether an offline run has begun and not ended. */
  boolean hasOfflineRuns() {
    return shareRun != null || !runs.isEmpty();
  }

  /** What {@link #offlineRanSince} is asked by; taken when an online run begins. */
  public long mark() {
    long before = goes.get();
    return isOfflineUnderWay() ? UNDER_WAY : before;
  }

  /** Whether an offline run has computed since a mark was taken, or then. */
  public boolean offlineRanSince(long mark) {
    return offlineRanBetween(mark, goes.get());
  }

  /** The same until a later mark was taken. */
  public static boolean offlineRanBetween(long mark, long later) {
    return mark == UNDER_WAY || later != mark;
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
    return active && !closed;
  }

  /** Whether an online request that comes stops every offline run, whoever had told it to go on. */
  public boolean stopsForOnline() {
    return heeds() && leastShare == 0;
  }

  /** How long runs have computed. */
  RunTime runTime() {
    return runTime;
  }

  /**
   * A run has ended that had the whole device while it computed.
   *
   * @param computedNanos without what it waited for
   */
  public void computed(long computedNanos) {
    runTime.ran(computedNanos, 1);
  }

  /** One has ended that had a share of it. */
  public void computedInShare(long computedNanos, double share) {
    runTime.ran(computedNanos, share);
  }

  /** Whether a share of the device pays; told what runs take. */
  public ShareTrial trial() {
    return trial;
  }

  /** Whether offline work has its share of the device and nothing else, while that is open. */
  private boolean isShareOnly() {
    return !active && trial.isOpen() && !lifted && !closed;
  }

  /**
   * Whether a run may begin in the lane that keeps to a share: it is for the time in which others
   * are held.
   */
  public boolean mayBeginInShare() {
    return trial.isOpen()
        && !closed
        && state.takesOfflineWork()
        && share > LEAST_SPEED
        && (isShareOnly() || online.isInFlight());
  }

  /** Whether the run that has begun in that lane may compute. */
  public boolean allowsShare() {
    return closed
        || online.isWaitingForMemory()
        || (!isStopped() && trialHoldsNanos() == 0 && (lifted || share > LEAST_SPEED));
  }

  /** A run begins in that lane. */
  public void beginInShare(OfflineRun run) {
    shareRun = run;
    goesOn();
  }

  /** It has ended. */
  public void endInShare() {
    shareRun = null;
    ended.increment();
  }

  /** Whether an offline run may begin now, whatever else is under way. */
  public boolean mayBeginOnCredit() {
    return !isShareOnly() && (!heeds() || (takesOfflineWork() && runs.size() < mostRuns));
  }

  private boolean takesOfflineWork() {
    return (lifted || state.takesOfflineWork()) && trialHoldsNanos() == 0;
  }

  /** Whether the device's state lets no offline work go on. */
  private boolean isStopped() {
    return !lifted && state.stopsOfflineWork();
  }

  /** How long the trial has offline work stand at most, from now on. */
  private long trialHoldsNanos() {
    return trial.holdsOffline() && !lifted ? trial.holdsOfflineNanos(nanoClock.getAsLong()) : 0;
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
    return trialHoldsNanos() > 0 ? 0 : speed();
  }

  /** What it may have, but for the trial. */
  private double speed() {
    if (isStopped()) {
      return 0;
    }
    double most = lifted ? 1 : share;
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
    long held = trialHoldsNanos();
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
    return lifted || online.isInFlight() ? 0 : online.expectedWaitNanos(segmentNanos, now);
  }

  /**
   * The online request that segments are to wait for which would run into it, for who cannot ask
   * {@link #waitNanos}; null where there is none. It changes whenever the listeners are told.
   */
  public @Nullable ExpectedArrival expected() {
    return heeds() && !lifted && !online.isWaitingForMemory() ? online.expected() : null;
  }

  /** Whether nobody online has asked for anything lately, so that nobody is to be expected. */
  public boolean isQuiet() {
    return !active || online.isQuiet(nanoClock.getAsLong());
  }

  /** An offline run begins. */
  public void begin(OfflineRun run) {
    runs.add(run);
    goesOn();
  }

  /**
   * One that stood goes on; said before it does. One that begins says so when it is known here: a
   * mark from before differs then, and one from after finds it under way.
   */
  public void goesOn() {
    goes.incrementAndGet();
  }

  /** One has ended. */
  public void end(OfflineRun run) {
    runs.remove(run);
    ended.increment();
    tell();
  }

  /** One was held at a gate. */
  public void held(long nanos) {
    heldNanos.add(nanos);
  }

  /** One has ended before its time, to begin anew, as others needed its memory. */
  public void madeWay() {
    madeWay.increment();
  }

  /** The device's state, from now on. */
  public void setState(SharingState now) {
    if (now != state) {
      state = now;
      tellClosed();
      tell();
    }
  }

  /**
   * A handler that tells the trial of an online request's answer, where it wants to know.
   *
   * @param cameNanos when the request came; it is not in flight yet
   */
  public ResultHandler comparing(InferenceRequest request, ResultHandler handler, long cameNanos) {
    if (!trial.compares()) {
      return handler;
    }
    ComparedAnswer.Kind kind = ComparedAnswer.Kind.of(request, online.count());
    return new ComparedAnswer(handler, this, kind, cameNanos, mark(), nanoClock);
  }

  /**
   * An online run has ended well that had all its weights.
   *
   * @param besideOffline whether offline work has computed while it did
   */
  public void onlineRan(ModelVersion model, Object kind, long nanos, boolean besideOffline) {
    slowdowns.ran(model, kind, nanos, besideOffline);
    trial.onlineRan(nanos);
  }

  /** What the throttle lets offline work have of its own speed from now on; 0 stops it. */
  public void setShare(double now) {
    double before = share;
    share = now;
    if (now > before) {
      tell();
    } else if (now < before) {
      tellClosed();
    }
  }

  /** Looks whether a share of the device pays; by the thread that looks at the device. */
  void lookAtTrial(long nowNanos) {
    if (trial.look(nowNanos)) {
      tellClosed();
      tell();
    }
  }

  /** From now on online work in flight alone holds offline work: what was taken is to end soon. */
  public void lift() {
    lifted = true;
    tell();
    tellClosed();
  }

  /** Opens for good: what was taken is to come to its end. */
  public void close() {
    closed = true;
    tell();
  }

  /** What there is to know of it. */
  public Counts counts() {
    int running = runs.size() + (shareRun == null ? 0 : 1);
    return new Counts(
        online.requests(),
        online.perSecond(nanoClock.getAsLong()),
        running,
        ended.sum(),
        heldNanos.sum(),
        madeWay.sum());
  }

  /**
   * What online and offline work have come to since the start.
   *
   * @param onlineRequests submitted
   * @param onlinePerSecond lately; 0 while that is not known
   * @param offlineRunning offline runs that have begun and not ended
   * @param offlineRuns offline runs that have ended
   * @param heldNanos that offline runs were held at gates, all together
   * @param madeWay offline runs that ended before their time, as others needed their memory
   */
  public record Counts(
      long onlineRequests,
      double onlinePerSecond,
      int offlineRunning,
      long offlineRuns,
      long heldNanos,
      long madeWay) {}
}
