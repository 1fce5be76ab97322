package io.pipelane.switcher.schedule.queue;

import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Threads that wait for requests: lanes', and that of the share. Guarded by the queue's lock, which
 * is free while one waits.
 */
final class Takers {
  /*
   * A request that runs in the share may still be given back, so lanes' threads wait for its end
   * when nothing more comes.
   */
  private final Condition filled;
  private final Condition filledForShare;
  private final WaitingRequests inLine;
  private final BatchGathering gathering;
  private final LongSupplier nanoClock;
  private int idle;
  private boolean runsInShare;
  private boolean closed;

  /** Nobody waits yet. */
  Takers(
      ReentrantLock lock,
      WaitingRequests inLine,
      BatchGathering gathering,
      LongSupplier nanoClock) {
    this.filled = lock.newCondition();
    this.filledForShare = lock.newCondition();
    this.inLine = inLine;
    this.gathering = gathering;
    this.nanoClock = nanoClock;
  }

  /** What runs next, and what runs with it; none once nothing more comes, and nothing is left. */
  List<QueuedRequest> awaitNext() {
    boolean hasIdled = false;
    while (true) {
      long now = nanoClock.getAsLong();
      @Nullable QueuedRequest failedBefore = inLine.nextAgain(now);
      if (failedBefore != null) {
        return List.of(failedBefore);
      }
      @Nullable QueuedRequest next = inLine.next(now);
      if (next != null) {
        return idle > 0 ? List.of(next) : gathering.with(next, !hasIdled, this::mayHold);
      }
      if (closed && inLine.isEmpty() && !runsInShare) {
        return List.of();
      }
      hasIdled = true;
      idle++;
      gathering.wake();
      filled.awaitUninterruptibly();
      idle--;
    }
  }

  /** Whether a lane may wait for more requests: no other one does, and more will come. */
  private boolean mayHold() {
    return idle == 0 && !closed;
  }

  /**
   * What runs in the share next; null once nothing more comes. The thread is done with what it had
   * before.
   *
   * @param mayBegin asked again after {@link #lookAgainForShare}
   */
  @Nullable QueuedRequest awaitForShare(
      Predicate<QueuedRequest> suitable, BooleanSupplier mayBegin) {
    runsInShare = false;
    if (closed) {
      filled.signalAll();
    }
    while (!closed) {
      @Nullable QueuedRequest next =
          mayBegin.getAsBoolean() ? inLine.nextOffline(suitable, nanoClock.getAsLong()) : null;
      if (next != null) {
        runsInShare = true;
        return next;
      }
      filledForShare.awaitUninterruptibly();
    }
    return null;
  }

  /** A request has come. */
  void oneCame() {
    filled.signal();
    lookAgainForShare();
    gathering.wake();
  }

  /** What kept requests in line, or threads from their end, may be over. */
  void lookAgain() {
    filled.signalAll();
  }

  /** A run may begin in the share that could not before. */
  void lookAgainForShare() {
    filledForShare.signal();
  }

  /** Nothing more comes. */
  void close() {
    closed = true;
    lookAgain();
    filledForShare.signalAll();
    gathering.wake();
  }

  boolean areClosed() {
    return closed;
  }

  /** Lanes' threads that wait at present. */
  int idle() {
    return idle;
  }
}
