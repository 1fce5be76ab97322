package io.pipelane.switcher.schedule.turn;

import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.estimate.LaneTimes;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The turns at computing: as many lanes' threads compute at once as there are turns. A run gives
 * its turn up at a gate to a request that the policy puts before it, keeps its thread and its
 * memory, and goes on where it stopped. Safe for any thread.
 */
public final class Turns {
  /*
   * A thread has a turn while it runs something. It gives the turn up at a gate (the run is then
   * paused), and for as long as it waits for memory: that memory may be a paused run's, which can
   * then go on. A thread that has its memory and no turn is paused too. So every turn is either
   * with somebody who computes, or free.
   *
   * * Threads without a run are idle or spare. An idle thread waits in the queue for a request, and
   * asks for a turn when it has one. No more threads are idle than turns are free, so no request is
   * taken from the queue before it can run. Spare threads wait here for a free turn. They give it
   * to the queue's request or to the paused run, whichever the policy says. Where there is no spare
   * thread, a free turn goes to a paused run.
   *
   * * An offline run asks the gate before each segment. While the gate is closed the run is held:
   * paused, and without a turn. It looks again itself when its pause is over, or when the gate
   * tells it to. It may see the gate open and no turn free, and the gate may have closed for a time
   * once there is one; so whoever leaves a turn free has such a run look. But for a few that are
   * begun at once, there are no more offline runs than turns, so a thread is left for others:
   * wherever the gate may close there are spare threads, whether runs give way to requests or not.
   *
   * * A run that computes elsewhere, in a worker process, cannot ask; its thread waits for its end.
   * Whoever brings what goes before it (a request, the gate's closing) pauses it here, by its stop
   * word. Whoever gives it a turn lets it go on by the same word. The run looks at the word at each
   * gate. It keeps the share that the word says by pauses of its own, in which it has its turn.
   *
   * * An online run that has what it waited for may find that all turns are had, by runs that it
   * went before, or goes before: those went on meanwhile. So a run looks at its gates at the online
   * ones that are paused as well, and hands its turn on to one that the policy puts before it. A
   * run elsewhere is stopped by the one that finds no turn. Who is paused for a run, or is when a
   * request begins before it, is behind that, and not compared with it again before that has ended
   * or waits for something. What runs still need is estimated: two that changed places by that
   * would get nowhere. And a request may have begun for its deadline.
   *
   * * A run that nobody wants any more ends at its next gate, and needs no turn for that. One that
   * computes elsewhere is told so by its stop word once its caller has gone. When a model leaves,
   * somebody waits for its runs: so an offline run of it elsewhere passes the gate and gives way to
   * nobody.
   *
   * * A run also ends at its next gate, and begins anew, when it holds the memory for which a run
   * that goes before it waits (Precedence). It has let go of everything before it asks for weights
   * again, so no two runs wait for each other.
   *
   * * Lock order: the daemon's or the lanes' lock, then this one. Under this one only the queue's
   * is taken.
   */
  final ReentrantLock lock = new ReentrantLock();
  final RequestQueue queue;
  final Estimates estimates;
  final Precedence precedence;
  final OfflineGate gate;
  final LongSupplier nanoClock;

  /** Written here, under the lock; looked at without it to see that there are none. */
  final List<RunElsewhere> elsewhere = new CopyOnWriteArrayList<>();

  // Guarded by the lock.
  final FreeTurns free;
  private int count;
  private final List<Turn> all = new ArrayList<>();
  final PausedRuns paused = new PausedRuns();
  private Preemptions preemptions = Preemptions.NONE;

  /**
   * Makes turns that nobody has.
   *
   * @param precedence what goes before a run, of the queue
   * @param gate asked before offline work goes on; tells here when it has opened or closed
   */
  public Turns(
      int count,
      Precedence precedence,
      Estimates estimates,
      OfflineGate gate,
      LongSupplier nanoClock) {
    this.count = count;
    this.free = new FreeTurns(lock, count);
    this.queue = precedence.queue();
    this.precedence = precedence;
    this.estimates = estimates;
    this.gate = gate;
    this.nanoClock = nanoClock;
    queue.behind(this::underWay, precedence.preemption());
    gate.onOpened(this::gateOpened);
    gate.onClosed(this::gateClosed);
  }

  /** Somebody who runs one request after another; belongs to one thread. */
  public Turn newTurn() {
    Turn turn = new Turn(this);
    lock.lock();
    try {
      all.add(turn);
    } finally {
      lock.unlock();
    }
    return turn;
  }

  /**
   * Has so many compute at once from now on: where there are fewer, once runs have ended or given
   * way; the turns that are too many are owed until then, so fewer than none are free.
   */
  public void limit(int turns) {
    lock.lock();
    try {
      int more = turns - count;
      count = turns;
      free.add(more);
      for (int i = 0; i < more; i++) {
        settle();
      }
    } finally {
      lock.unlock();
    }
  }

  /** It runs nothing any more. */
  void forget(Turn turn) {
    lock.lock();
    try {
      all.remove(turn);
    } finally {
      lock.unlock();
    }
  }

  /** How many there are. */
  int known() {
    lock.lock();
    try {
      return all.size();
    } finally {
      lock.unlock();
    }
  }

  /** How long online runs take the lanes at least; others, and paused ones, let requests pass. */
  LaneTimes underWay(long nowNanos) {
    lock.lock();
    try {
      long[] running =
          all.stream()
              .mapToLong(turn -> turn.leastRemainingNanos(nowNanos))
              .filter(remaining -> remaining > 0)
              .toArray();
      return new LaneTimes(Arrays.copyOf(running, Math.max(count, running.length)));
    } finally {
      lock.unlock();
    }
  }

  /** Held runs look whether they may go on, and threads whether offline work may begin. */
  private void gateOpened() {
    lock.lock();
    try {
      paused.lookAgain(Turn::isOffline);
      elsewhere.forEach(RunElsewhere::steer);
    } finally {
      lock.unlock();
    }
    if (!queue.isEmpty()) {
      queue.lookAgain();
    }
  }

  /** Offline runs elsewhere are to stop, or to go on slower. */
  private void gateClosed() {
    if (elsewhere.isEmpty()) {
      return;
    }
    lock.lock();
    try {
      elsewhere.forEach(RunElsewhere::steer);
    } finally {
      lock.unlock();
    }
  }

  /**
   * A model leaves, as the queue has been told: its offline runs end at their gates, and those that
   * cannot, as they compute elsewhere, come to their end soon.
   */
  public void modelLeaves() {
    lock.lock();
    try {
      paused.lookAgain(Turn::passes);
      elsewhere.forEach(RunElsewhere::steer);
    } finally {
      lock.unlock();
    }
  }

  /**
   * A request has come to the queue, or a thread that could run one is there; a run that computes
   * elsewhere may have to give way to it.
   */
  public void requestCame() {
    if (!elsewhere.isEmpty() && !queue.isEmpty()) {
      elsewhere.forEach(RunElsewhere::giveWay);
    }
  }

  /** A run computes in another process from now on, where it may have to stop; under the lock. */
  void begin(RunElsewhere run) {
    elsewhere.add(run);
  }

  /** It has returned; under the lock. */
  void end(RunElsewhere run) {
    elsewhere.remove(run);
  }

  /** A run has lost its turn at a gate; under the lock. */
  void interrupted() {
    preemptions = preemptions.withRun();
  }

  /** Puts a turn to use that has become free. */
  void settle() {
    @Nullable Turn next = free.areMoreThanSpare() ? paused.next() : null;
    if (next != null) {
      next.resume();
    } else {
      free.signal();
      paused.lookAgain(PausedRuns::isHeldForATime);
    }
  }

  /**
   * Gives a thread's turn, if it has one that is not owed, to the paused run that is next, if it is
   * one of those meant; under the lock.
   */
  void handOn(Turn from, Predicate<Turn> meant) {
    @Nullable Turn next = from.isHeld() && !free.areOwed() ? paused.next() : null;
    if (next != null && meant.test(next)) {
      from.giveUp();
      next.resume();
    }
  }

  /** The paused online run for which a run gives its turn up, if there is one; under the lock. */
  @Nullable Turn pausedBefore(RunProgress run) {
    if (!paused.hasOnline()) {
      return null;
    }
    long remaining = run.remainingNanos(nanoClock.getAsLong());
    return paused.firstOnline(
        other ->
            !other.pause().isBehind(run)
                && precedence.givesTurnUp(
                    run, remaining, other.progress(), other.pause().remainingNanos()));
  }

  /** A request begins before those that are paused, for which it gives no turn up then. */
  void goesFirst(RunProgress run) {
    lock.lock();
    try {
      paused.goBehind(run);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Has a run elsewhere give its turn up for a run that has none, if that goes before it; under the
   * lock.
   */
  void stopOneFor(RunProgress waiting) {
    if (elsewhere.isEmpty()) {
      return;
    }
    long remaining = waiting.remainingNanos(nanoClock.getAsLong());
    boolean _ = elsewhere.stream().anyMatch(run -> run.giveTurnUp(waiting, remaining));
  }

  /** A request has begun before a paused run, so long after it came. */
  void overtook(long waitNanos) {
    lock.lock();
    try {
      preemptions = preemptions.withRequest(waitNanos);
    } finally {
      lock.unlock();
    }
  }

  /** Whether an online run that holds weights makes way to another one, which waits for them. */
  boolean goesBefore(Turn first, Turn holder) {
    lock.lock();
    try {
      return precedence.goesBefore(
          first.progress(), holder.progress(), holder.pause().computedUntilNanos());
    } finally {
      lock.unlock();
    }
  }

  /** An online run has made way, and begins anew. */
  public void madeWay() {
    lock.lock();
    try {
      preemptions = preemptions.withMadeWay();
    } finally {
      lock.unlock();
    }
  }

  /** What has been interrupted so far. */
  public Preemptions preemptions() {
    lock.lock();
    try {
      return preemptions;
    } finally {
      lock.unlock();
    }
  }

  /** Threads that wait for a turn. */
  int spare() {
    lock.lock();
    try {
      return free.spare();
    } finally {
      lock.unlock();
    }
  }
}
