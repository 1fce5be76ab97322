package io.pipelane.lanes.execution;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The bytes that lanes have borrowed of a {@link Reserve} beyond their own memory, until no lane
 * needs them. Safe for any platform thread.
 */
public final class BorrowedSpace {
  /*
   * The lanes' lock guards everything here, and what is borrowed is counted with their space. It
   * goes back as lanes are left, unless somebody is about to enter one for which it was borrowed.
   * The reserve is asked without the lock, and given back to without it, as its owner may want that
   * lock in turn.
   */
  private final ReentrantLock lock;
  private final Condition changed;
  private final LaneSpace space;
  private volatile Reserve reserve = Reserve.NONE;
  private int borrowings;

  /**
   * Nothing is borrowed.
   *
   * @param lock the lanes'
   * @param changed signalled, of that lock, when there is more
   */
  BorrowedSpace(ReentrantLock lock, Condition changed, LaneSpace space) {
    this.lock = lock;
    this.changed = changed;
    this.space = space;
  }

  /** Says what lanes may borrow of, before any is entered. */
  public void from(Reserve lender) {
    reserve = lender;
  }

  /**
   * A hold on borrowed bytes: while it is open, they are not given back, though no lane may need
   * them yet.
   */
  public interface Borrowing extends AutoCloseable {
    @Override
    void close();
  }

  /**
   * Borrows for a lane that is about to be entered; any thread closes it, after that, perhaps more
   * than once.
   */
  public Borrowing begin() {
    lock.lock();
    try {
      borrowings++;
    } finally {
      lock.unlock();
    }
    AtomicBoolean open = new AtomicBoolean(true);
    return () -> {
      if (open.getAndSet(false)) {
        end();
      }
    };
  }

  private void end() {
    lock.lock();
    try {
      borrowings--;
    } finally {
      lock.unlock();
    }
    giveBackSpare();
  }

  /**
   * Borrows what a lane of so many bytes lacks, if it were the only one, if the reserve lends it at
   * once; while a {@link Borrowing} is open.
   *
   * @return whether a lane can become as large now
   */
  public boolean borrow(long laneBytes) {
    long missing = laneBytes - space.largestLaneBytes();
    if (missing > 0) {
      lend(missing);
    }
    return laneBytes <= space.largestLaneBytes();
  }

  /** Has the reserve lend so much, or what it has at once; while a {@link Borrowing} is open. */
  void lend(long bytes) {
    lent(reserve.lend(bytes));
  }

  /** Takes what the reserve has lent, in whole units. */
  public void lent(long bytes) {
    if (bytes > 0) {
      lock.lock();
      try {
        space.borrowed(space.borrowedBytes() + bytes);
        changed.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }

  /** What is borrowed at present. */
  public long bytes() {
    return space.borrowedBytes();
  }

  /**
   * What of it nobody knows to come back, as iterations that do not end have it in their lanes; in
   * whole units.
   */
  public long keptBytes() {
    lock.lock();
    try {
      long unit = reserve.unitBytes();
      return Math.ceilDiv(space.keptBytes(), unit) * unit;
    } finally {
      lock.unlock();
    }
  }

  /** Gives back what no lane has, unless somebody is about to enter one. */
  void giveBackSpare() {
    if (space.borrowedBytes() == 0) {
      return; // As nearly always.
    }
    long spare;
    lock.lock();
    try {
      spare = spareBytes();
      if (spare > 0) {
        space.borrowed(space.borrowedBytes() - spare);
      }
    } finally {
      lock.unlock();
    }
    if (spare > 0) {
      reserve.giveBack(spare);
    }
  }

  /** What {@link #giveBackSpare} would give back now; under the lanes' lock. */
  long spareBytes() {
    if (borrowings > 0 || space.hasPending()) {
      return 0;
    }
    long unit = reserve.unitBytes();
    return Math.min(space.borrowedBytes(), space.headroomBytes()) / unit * unit;
  }
}
