package io.pipelane.modelstore.host;

import java.lang.foreign.MemorySegment;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Memory that a file is being read into, for those who follow: they have each stretch as soon as it
 * is there. Safe for any thread.
 */
public final class Filling {
  /*
   * Pieces come in about their order, so what is there is a prefix. What came ahead of its turn is
   * remembered until the prefix reaches it.
   *
   * Whoever reads ahead of the readers would wait for all in between. That far off it is quicker to
   * read the file.
   */
  private static final long WORTH_WAITING_BYTES = 32L << 20;

  private final boolean soon;
  private final NavigableMap<Long, Long> ahead = new TreeMap<>();
  private @Nullable MemorySegment memory;
  private long thereBytes;
  private int readers;
  private boolean over;

  /** Nothing is being read yet, nor will be for a while. */
  public Filling() {
    this(false);
  }

  /**
   * Nothing is being read yet.
   *
   * @param soon whether reading is about to begin, or to end before it has: that is worth waiting
   *     for
   */
  Filling(boolean soon) {
    this.soon = soon;
  }

  /** Reading begins. */
  public synchronized void begun(MemorySegment target) {
    memory = target;
    notifyAll();
  }

  /** Bytes {@code [begin, end)} are there. */
  public synchronized void came(long begin, long end) {
    ahead.put(begin, end);
    for (var next = ahead.firstEntry();
        next != null && next.getKey() <= thereBytes;
        next = ahead.firstEntry()) {
      thereBytes = Math.max(thereBytes, next.getValue());
      ahead.remove(next.getKey());
    }
    notifyAll();
  }

  /**
   * From now on nobody reads the memory through this: it is held otherwise, or will be given back.
   * Waits for those who are reading it.
   */
  public synchronized void end() {
    over = true;
    notifyAll();
    boolean interrupted = false;
    while (readers > 0) {
      try {
        wait();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  synchronized boolean isOver() {
    return over;
  }

  /** Whether all is there before an end, and can be read through this. */
  synchronized boolean has(long end) {
    return memory != null && !over && end <= thereBytes;
  }

  /**
   * Waits until all is there before an end.
   *
   * @return false when it has to be had elsewhere: reading is over, or the thread was interrupted
   */
  synchronized boolean await(long end) {
    while (!over && !has(end)) {
      try {
        wait();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return false;
      }
    }
    return !over;
  }

  /**
   * Copies bytes {@code [offset, offset + destination.byteSize())} once they are there; waits if
   * they are on their way.
   *
   * @return false when they have to be had elsewhere: reading has not begun, or is over, or is far
   *     from there
   */
  public boolean read(long offset, MemorySegment destination) {
    MemorySegment source = enter(offset, offset + destination.byteSize());
    if (source == null) {
      return false;
    }
    try {
      MemorySegment.copy(source, offset, destination, 0, destination.byteSize());
    } finally {
      leave();
    }
    return true;
  }

  private synchronized @Nullable MemorySegment enter(long begin, long end) {
    while (isWorthWaiting(begin, end)) {
      try {
        wait();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return null;
      }
    }
    if (memory == null || over || end > thereBytes) {
      return null;
    }
    readers++;
    return memory;
  }

  private boolean isWorthWaiting(long begin, long end) {
    if (over) {
      return false;
    }
    return memory == null ? soon : end > thereBytes && begin <= thereBytes + WORTH_WAITING_BYTES;
  }

  private synchronized void leave() {
    readers--;
    notifyAll();
  }
}
