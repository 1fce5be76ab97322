package io.pipelane.switcher.schedule.turn;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.execution.WeightArrivals.Elsewhere;
import io.pipelane.lanes.execution.WeightArrivals.Here;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.Lease;
import io.pipelane.switcher.memory.RunControl;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.sharing.gate.OfflineRun;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One thread's part in {@link Turns}: its turn, while it has one, and its run. Belongs to the
 * thread, but for what others do under the lock to pause it, and to have it go on.
 */
public final class Turn implements RunControl, OfflineRun {
  /*
   * One state under the turns' lock says whether the turn is held, the run is paused (Pause), and a
   * run elsewhere is stopped. Whoever takes the turn away or gives it writes all of that state in
   * one step, by the same few methods (take, giveUp, resume, and a pause's begin and end). That is
   * the thread itself in line, at a gate or when it waits for memory, or another thread by the stop
   * word. How a thread without a run comes by a turn is said in ThreadInLine, what reaches a run in
   * another process in RunElsewhere.
   */
  private final Turns turns;
  private final ThreadInLine line;
  private final Pause pause;
  private final RunHere here = new RunHere();
  private volatile @Nullable RunProgress run; // Written by the thread.
  private boolean isOvertaking; // Of the thread, as it begins a run.
  private boolean waitsForMemory;
  private long segmentBeginNanos;
  private long segmentNanos;
  private long segmentEndNanos;

  // Guarded by the turns' lock.
  private boolean held;
  private @Nullable RunElsewhere elsewhere;

  Turn(Turns turns) {
    this.turns = turns;
    this.line = new ThreadInLine(turns, this);
    this.pause = new Pause(turns, this);
  }

  boolean isOffline() {
    return progress().request().request().priority() == Priority.OFFLINE;
  }

  /** The pause of its run, where it is paused; under the lock. */
  Pause pause() {
    return pause;
  }

  /** For how long an online run that computes needs its turn at least; under the lock. */
  long leastRemainingNanos(long nowNanos) {
    @Nullable RunProgress running = run;
    if (!held || running == null || running.request().request().priority() == Priority.OFFLINE) {
      return 0;
    }
    return running.leastRemainingNanos(nowNanos);
  }

  /** The request that {@link #next} has given. */
  public RunProgress progress() {
    if (run == null) {
      throw new IllegalStateException("nothing runs here");
    }
    return run;
  }

  /**
   * Takes the request that runs next, and a turn; blocks while there is none.
   *
   * @return null once the queue is closed and empty
   */
  public @Nullable QueuedRequest next() {
    end();
    isOvertaking = false;
    return line.next();
  }

  /** The run that begins goes before one that is paused. */
  void overtakes() {
    isOvertaking = true;
  }

  /** Its thread begins to run a request; nothing of it computes yet. */
  void begin(QueuedRequest request) {
    long now = turns.nanoClock.getAsLong();
    run = new RunProgress(request, turns.estimates.remainingNanos(request.key()), now);
    segmentNanos = 0;
    segmentEndNanos = now;
    request.whenUnwanted(this::runIsUnwanted);
    if (isOffline()) {
      turns.gate.begin(this);
    }
  }

  /** Its run need not go on, or passes the gate; it looks whether. */
  private void runIsUnwanted() {
    turns.lock.lock();
    try {
      @Nullable RunProgress running = run;
      if (running != null) {
        here.endIfUnwanted(running.request());
      }
      if (elsewhere != null) {
        elsewhere.endIfUnwanted();
      } else if (turns.paused.contains(this)) {
        lookAgain();
      }
    } finally {
      turns.lock.unlock();
    }
  }

  @Override
  public boolean goesBefore(Lease holder) {
    return RunControl.super.goesBefore(holder)
        || (!isOffline()
            && holder.control() instanceof Turn other
            && turns.goesBefore(this, other));
  }

  @Override
  public boolean isBlocked() {
    turns.lock.lock();
    try {
      return progress().isBlocked();
    } finally {
      turns.lock.unlock();
    }
  }

  @Override
  public void makeWay(boolean atOnce) {
    turns.lock.lock();
    try {
      RunProgress progress = progress();
      if (atOnce) {
        progress.request().makeWay();
      } else if (elsewhere != null || turns.paused.contains(this)) {
        progress.makeWay(pause.computedUntilNanos());
      } else {
        progress.makeWayAtGate(); // Its thread knows how far it is.
      }
    } finally {
      turns.lock.unlock();
    }
  }

  private void end() {
    if (run != null) {
      gotMemory();
      boolean offline = isOffline();
      run = null;
      if (offline) {
        turns.gate.end(this);
      }
    }
  }

  /**
   * Runs a request that is not the queue's: waits for a turn as a paused run does, and gives it up
   * at the end. For a thread that never asks for the {@link #next} request.
   *
   * @throws StatusException when nobody wants the run any more before it has a turn
   */
  public void run(QueuedRequest request, Runnable work) {
    try {
      begin(request);
      retake();
      work.run();
    } finally {
      end();
      turns.forget(this);
      computesNoMore();
    }
  }

  /**
   * How long the gate keeps the run's next segment waiting: one that is waited for, as its model
   * goes, passes.
   */
  long gateWaitNanos() {
    return passes() ? 0 : turns.gate.waitNanos(segmentNanos, segmentEndNanos);
  }

  /** Whether an offline run goes on as an online one, and to its end. */
  boolean passes() {
    return progress().request().isLeaving();
  }

  /** Gives the turn up, if the thread has one. */
  @Override
  public void leave() {
    turns.lock.lock();
    try {
      progress().blocks(turns.nanoClock.getAsLong());
      turns.paused.noLongerBehind(progress());
      giveUpIfHeld();
    } finally {
      turns.lock.unlock();
    }
    if (!waitsForMemory && !isOffline()) {
      waitsForMemory = true;
      turns.gate.online().waitsForMemory();
    }
  }

  /** Where gates hold nothing, others like it would take the turns and then compute beside it. */
  @Override
  public void awaitsProcess() {
    if (turns.gate.isActive()) {
      leave();
    }
  }

  @Override
  public void computesNoMore() {
    turns.lock.lock();
    try {
      giveUpIfHeld();
    } finally {
      turns.lock.unlock();
    }
  }

  private void giveUpIfHeld() {
    if (held) {
      giveUp();
      turns.settle();
    }
  }

  /** Whether the thread has its turn; under the lock. */
  boolean isHeld() {
    return held;
  }

  /** Takes a turn that is nobody's; under the lock. */
  void take() {
    turns.free.take();
    held = true;
  }

  /** Gives it back; under the lock. */
  void giveUp() {
    held = false;
    turns.free.giveBack();
  }

  private void gotMemory() {
    if (waitsForMemory) {
      waitsForMemory = false;
      turns.gate.online().gotMemory();
    }
  }

  /**
   * Waits for a turn, if the thread has none, and an offline run for the gate: that may have closed
   * while the run waited for memory.
   *
   * @throws StatusException when nobody wants the run any more; the thread may have no turn then
   */
  @Override
  public void retake() {
    gotMemory();
    turns.lock.lock();
    try {
      progress().unblocked(turns.nanoClock.getAsLong());
      if (!held) {
        if (isOffline() && gateWaitNanos() != 0) {
          pause.await(true);
        } else {
          takeOrPause();
        }
      }
    } finally {
      turns.lock.unlock();
    }
    progress().requireGoesOn(turns.nanoClock);
  }

  /** Has the run go on with a turn that is free, or waits for one; under the lock. */
  void takeOrPause() {
    if (!turns.free.isAny() && !isOffline()) {
      turns.stopOneFor(progress());
    }
    if (turns.free.isAny()) {
      take();
      goesOn();
    } else {
      pause.await(true);
    }
  }

  /** Has a paused run go on, with a turn that is nobody's. */
  void resume() {
    take();
    goesOn();
    pause.end();
    if (elsewhere != null) {
      elsewhere.goOn();
    } else {
      pause.signal();
    }
  }

  private void goesOn() {
    if (isOffline()) {
      turns.gate.runs().goesOn();
    }
  }

  @Override
  public boolean stands() {
    turns.lock.lock();
    try {
      return !held && (elsewhere == null || elsewhere.stands());
    } finally {
      turns.lock.unlock();
    }
  }

  /** A paused run looks whether it may go on, or need not; under the lock. */
  void lookAgain() {
    if (elsewhere == null) {
      pause.signal();
    } else if (turns.free.isAny() && isOffline() && gateWaitNanos() == 0) {
      resume();
    }
  }

  @Override
  public void beforeSegment(int segment) {
    RunProgress progress = progress();
    progress.requireGoesOn(turns.nanoClock);
    progress.at(segment);
    if (segment == 0) {
      countIfBefore();
    }
    boolean offline = isOffline();
    if (offline) {
      passGate(segment);
      progress.requireGoesOn(turns.nanoClock); // One that was cancelled while it stood has no turn.
    }
    if (!turns.queue.isEmpty()) {
      giveWayToRival();
    }
    if (turns.paused.hasOnline()) {
      giveWayToPaused();
    }
    progress.request().requireWanted();
    if (offline) {
      segmentBeginNanos = turns.nanoClock.getAsLong();
    }
  }

  /** Counts a request that goes before a run, once it begins on the device. */
  private void countIfBefore() {
    if (isOvertaking) {
      isOvertaking = false;
      turns.overtook(turns.nanoClock.getAsLong() - progress().request().submittedNanos());
    }
  }

  /** Holds an offline run while the gate is closed. */
  private void passGate(int segment) {
    long begin = turns.nanoClock.getAsLong();
    if (segment > 0) {
      segmentNanos = begin - segmentBeginNanos;
      segmentEndNanos = begin;
    }
    if (gateWaitNanos() == 0) {
      return;
    }
    turns.lock.lock();
    try {
      interrupt();
      turns.settle();
      pause.await(true);
    } finally {
      turns.lock.unlock();
    }
  }

  private void interrupt() {
    turns.interrupted();
    giveUp();
  }

  /** Pauses the run for a rival, unless somebody else sees to the queue, or nobody could. */
  private void giveWayToRival() {
    RunProgress progress = progress();
    if (turns.precedence.hasRival(progress, progress.remainingNanos(turns.nanoClock.getAsLong()))) {
      turns.lock.lock();
      try {
        if (turns.free.areAwaited()) {
          interrupt();
          turns.free.signal();
          pause.await(false);
        }
      } finally {
        turns.lock.unlock();
      }
    }
  }

  /** Pauses the run for a paused one that goes before it; one that was cancelled has no turn. */
  private void giveWayToPaused() {
    turns.lock.lock();
    try {
      @Nullable Turn first = held ? turns.pausedBefore(progress()) : null;
      if (first != null) {
        interrupt();
        pause.goesBehind(first.progress());
        first.resume();
        pause.await(false);
      }
    } finally {
      turns.lock.unlock();
    }
  }

  @Override
  public Elsewhere computesElsewhere(StopWord word) {
    progress().beginsAnew();
    retake(); // It may have been stopped where it was lost, and begins anew.
    countIfBefore();
    RunElsewhere run = new RunElsewhere(turns, this, word);
    turns.lock.lock();
    try {
      progress().pauses(turns.nanoClock.getAsLong()); // Who was told to make way until now.
      elsewhere = run;
      run.begin();
      if (word.stops()) {
        run.giveWayToPaused();
      }
    } finally {
      turns.lock.unlock();
    }
    if (word.stops() && !turns.queue.isEmpty()) {
      run.giveWay();
    }
    return run;
  }

  @Override
  public Here computesHere(Consumer<StatusException> end) {
    return here.begin(progress().request(), end);
  }

  /** The run is over; one that was stopped behind its last gate has no turn. */
  void returned(RunElsewhere run) {
    turns.lock.lock();
    try {
      turns.end(run);
      elsewhere = null;
      if (turns.paused.contains(this)) {
        pause.end();
      }
    } finally {
      turns.lock.unlock();
    }
  }

  /** Whether a run computes elsewhere, with its turn; under the lock. */
  boolean computesAs(RunElsewhere some) {
    return held && elsewhere == some;
  }

  /** Pauses the run, which computes elsewhere and has been stopped there; under the lock. */
  void stopped() {
    interrupt();
    pause.begin();
  }

  /** The same for another run, which goes on first. */
  void stoppedFor(RunProgress other) {
    pause.goesBehind(other);
    stopped();
  }
}
