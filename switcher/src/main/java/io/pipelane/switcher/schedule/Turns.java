package io.pipelane.switcher.schedule;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.sharing.OfflineGate;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Who computes: as many lanes' threads at once as there are turns. A run gives its turn up at a
 * gate to a request that the policy puts before it, keeps its thread and its memory, and goes on
 * where it stopped. Safe for any thread.
 */
final class Turns {
  /*
   * A thread has a turn while it runs something. It gives it up at a gate (the run is paused), and
   * for as long as it waits for memory: what it waits for may be a paused run's, which then goes on.
   * A thread that has its memory and no turn is paused too. So every turn is with somebody who
   * computes, or free.
   *
   * Threads without a run are idle or spare. An idle one waits in the queue for a request, and asks
   * for a turn when it has one; no more are idle than turns are free, so no request is taken from
   * the queue before it can run. Spare ones wait here: for a free turn, which they give to the queue's
   * request or the paused run, whichever the policy says. Where there is no spare thread, a free turn
   * goes to a paused run.
   *
   * An offline run asks the gate before each segment, and is paused without a turn while that is
   * closed (held). It looks again itself when its pause is over, or when the gate tells. There are
   * no more offline runs than turns, but for a few begun at once, so a thread is left for others.
   *
   * Lock order: the daemon's or the lanes', then this one; under it none but the queue's is taken.
   */
  private static final Comparator<Turn> ORDER =
      Comparator.<Turn, Boolean>comparing(Turn::isOffline)
          .thenComparingLong(turn -> turn.remainingNanos);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition freed = lock.newCondition();
  private final RequestQueue queue;
  private final Estimates estimates;
  private final Predicate<QueuedRequest> room;
  private final OfflineGate gate;
  private final LongSupplier nanoClock;
  private final List<Turn> paused = new ArrayList<>();
  private int free;
  private int idle;
  private int spare;
  private Preemptions preemptions = Preemptions.NONE;

  /**
   * Makes turns that nobody has.
   *
   * @param room whether a request would find a lane now; asked with no lock held
   * @param gate asked before offline work goes on; tells here when it has opened
   */
  Turns(
      int count,
      RequestQueue queue,
      Estimates estimates,
      Predicate<QueuedRequest> room,
      OfflineGate gate,
      LongSupplier nanoClock) {
    this.free = count;
    this.queue = queue;
    this.estimates = estimates;
    this.room = room;
    this.gate = gate;
    this.nanoClock = nanoClock;
    gate.onOpened(this::gateOpened);
  }

  /** Held runs look whether they may go on, and threads whether offline work may begin. */
  private void gateOpened() {
    lock.lock();
    try {
      for (Turn turn : paused) {
        if (turn.isOffline()) {
          turn.given.signal();
        }
      }
    } finally {
      lock.unlock();
    }
    if (!queue.isEmpty()) {
      queue.lookAgain();
    }
  }

  /** The paused run that goes on first; null where there is none that may. */
  private @Nullable Turn nextPaused() {
    return paused.stream()
        .filter(turn -> !turn.isOffline() || turn.gateWaitNanos() == 0)
        .min(ORDER)
        .orElse(null);
  }

  /** What has been interrupted so far. */
  Preemptions preemptions() {
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
      return spare;
    } finally {
      lock.unlock();
    }
  }

  /** Somebody who runs one request after another; belongs to one thread. */
  Turn newTurn() {
    return new Turn();
  }

  /** Puts a turn to use that has become free. */
  private void settle() {
    @Nullable Turn next = free > spare ? nextPaused() : null;
    if (next != null) {
      free--;
      resume(next);
    } else {
      freed.signal();
    }
  }

  private void resume(Turn turn) {
    paused.remove(turn);
    turn.held = true;
    turn.given.signal();
  }

  /** A run that waits for a turn, and what it still needs. */
  private record Paused(QueuedRequest request, long remainingNanos) {}

  /** One thread's part: its turn, while it has one, and its run. */
  final class Turn {
    private final Condition given = lock.newCondition();
    private boolean held;
    private long remainingNanos;
    private boolean goesBefore;
    private boolean waitsForMemory;
    private long segmentBeginNanos;
    private long segmentNanos;
    private long segmentEndNanos;
    private @Nullable RunProgress run;

    private Turn() {}

    private boolean isOffline() {
      return progress().request().request().priority() == Priority.OFFLINE;
    }

    /** The request that {@link #next} has given. */
    RunProgress progress() {
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
    @Nullable QueuedRequest next() {
      end();
      goesBefore = false;
      while (true) {
        @Nullable Paused best = awaitTurn();
        if (best == null) {
          return takeWhileIdle();
        }
        @Nullable QueuedRequest urgent = queue.takeBefore(best.request, best.remainingNanos);
        if (urgent != null) {
          begin(urgent);
          goesBefore = true;
          return urgent;
        }
        handOn();
      }
    }

    private void begin(QueuedRequest request) {
      long now = nanoClock.getAsLong();
      run = new RunProgress(request, estimates.remainingNanos(request.key()), now);
      segmentNanos = 0;
      segmentEndNanos = now;
      if (isOffline()) {
        gate.begin();
      }
    }

    private void end() {
      if (run != null) {
        hasMemory();
        boolean offline = isOffline();
        run = null;
        if (offline) {
          gate.end();
        }
      }
    }

    /** How long the gate keeps the run's next segment waiting. */
    private long gateWaitNanos() {
      return gate.waitNanos(segmentNanos, segmentEndNanos);
    }

    /** Gets a turn, and the paused run that is next; with none, the thread is idle from now on. */
    private @Nullable Paused awaitTurn() {
      lock.lock();
      try {
        while (true) {
          @Nullable Turn best = held ? nextPaused() : null;
          if (held && best == null) {
            held = false;
            free++;
            if (free > idle) {
              idle++;
              return null;
            }
          }
          if (best != null && held) {
            return new Paused(best.progress().request(), best.remainingNanos);
          }
          spare++;
          while (free == 0 || (free <= idle && nextPaused() == null)) {
            freed.awaitUninterruptibly();
          }
          spare--;
          free--;
          held = true;
        }
      } finally {
        lock.unlock();
      }
    }

    private @Nullable QueuedRequest takeWhileIdle() {
      @Nullable QueuedRequest next = queue.take();
      if (next != null) {
        begin(next);
      }
      lock.lock();
      try {
        idle--;
        if (next == null) {
          freed.signalAll(); // For the other threads it is over as well.
        } else {
          goesBefore = !isOffline() && paused.stream().anyMatch(Turn::isOffline);
          takeOrPause();
        }
      } finally {
        lock.unlock();
      }
      return next;
    }

    /** Gives the turn to the paused run that is next. */
    private void handOn() {
      lock.lock();
      try {
        @Nullable Turn next = nextPaused();
        if (next != null) {
          held = false;
          resume(next);
        }
      } finally {
        lock.unlock();
      }
    }

    /** Gives the turn up, if the thread has one: it is about to wait for what others may have. */
    void leave() {
      lock.lock();
      try {
        if (held) {
          held = false;
          free++;
          settle();
        }
      } finally {
        lock.unlock();
      }
      if (!waitsForMemory && !isOffline()) {
        waitsForMemory = true;
        gate.online().waitsForMemory();
      }
    }

    private void hasMemory() {
      if (waitsForMemory) {
        waitsForMemory = false;
        gate.online().hasMemory();
      }
    }

    /** Waits for a turn, if the thread has none. */
    void retake() {
      hasMemory();
      lock.lock();
      try {
        if (!held) {
          takeOrPause();
        }
      } finally {
        lock.unlock();
      }
    }

    private void takeOrPause() {
      if (free > 0) {
        free--;
        held = true;
      } else {
        pause();
      }
    }

    private void pause() {
      pause(true);
    }

    /**
     * Waits for a turn.
     *
     * @param mayResume whether an offline run may take a turn that is free already; if not, that is
     *     somebody else's, who was told of it
     */
    private void pause(boolean mayResume) {
      long begin = nanoClock.getAsLong();
      remainingNanos = progress().remainingNanos(begin);
      paused.add(this);
      boolean looks = isOffline() && mayResume;
      while (!held) {
        long wait = isOffline() ? gateWaitNanos() : 0;
        if (looks && wait == 0 && free > 0) {
          free--;
          resume(this);
        } else if (wait == 0 || wait == OfflineGate.UNTIL_TOLD) {
          given.awaitUninterruptibly();
        } else {
          try {
            long _ = given.awaitNanos(wait);
          } catch (InterruptedException e) {
            // Nobody has a reason to interrupt a lane's thread; the run goes on.
          }
        }
        looks = isOffline();
      }
      progress().waited(nanoClock.getAsLong() - begin);
    }

    /** The run comes to a segment, and computes it once nothing goes before it. */
    void beforeSegment(int segment) {
      RunProgress progress = progress();
      progress.at(segment);
      if (segment == 0 && goesBefore) {
        goesBefore = false;
        count(nanoClock.getAsLong() - progress.request().submittedNanos());
      }
      boolean offline = isOffline();
      if (offline) {
        passGate(segment);
      }
      if (!queue.isEmpty()) {
        giveWayToRival(progress);
      }
      if (offline) {
        segmentBeginNanos = nanoClock.getAsLong();
      }
    }

    /** Holds an offline run while the gate is closed. */
    private void passGate(int segment) {
      long begin = nanoClock.getAsLong();
      if (segment > 0) {
        segmentNanos = begin - segmentBeginNanos;
        segmentEndNanos = begin;
      }
      if (gateWaitNanos() == 0) {
        return;
      }
      lock.lock();
      try {
        preemptions = preemptions.withRun();
        held = false;
        free++;
        settle();
        pause();
      } finally {
        lock.unlock();
      }
      gate.held(nanoClock.getAsLong() - begin);
    }

    private void giveWayToRival(RunProgress progress) {
      long remaining = progress.remainingNanos(nanoClock.getAsLong());
      @Nullable QueuedRequest rival = queue.before(progress.request(), remaining);
      if (rival != null && room.test(rival)) {
        giveWay();
      }
    }

    private void count(long waitNanos) {
      lock.lock();
      try {
        preemptions = preemptions.withRequest(waitNanos);
      } finally {
        lock.unlock();
      }
    }

    /** Pauses the run, unless somebody else sees to the queue, or nobody could. */
    private void giveWay() {
      lock.lock();
      try {
        if (free == 0 && spare > 0) {
          preemptions = preemptions.withRun();
          held = false;
          free++;
          freed.signal();
          pause(false);
        }
      } finally {
        lock.unlock();
      }
    }
  }
}
