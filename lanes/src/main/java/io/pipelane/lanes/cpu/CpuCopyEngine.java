package io.pipelane.lanes.cpu;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.CopyEngine;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.completion.Completion;
import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** A thread that copies weights into mapped pages, in the order in which copies were given. */
final class CpuCopyEngine implements CopyEngine, AutoCloseable {
  /*
   * The thread is never interrupted: an interrupt would close the file channel that a source reads
   * from. It ends when `closed` is set and the queue is empty; what it finds in the queue then fails
   * without being carried out.
   */

  /** Copies that may wait; a model of many gigabytes in groups of a page stays far below it. */
  static final int MAXIMUM_PENDING = 1 << 16;

  /** Copies look for the end of the engine this often. */
  private static final long PIECE_BYTES = 8L << 20;

  private record Copy(
      WeightSource source,
      long sourceOffset,
      CpuAddressRange range,
      long rangeOffset,
      long bytes,
      long enqueuedAtNanos,
      Completion event) {}

  private final LinkThrottle throttle;
  private final BlockingQueue<Runnable> pending = new ArrayBlockingQueue<>(MAXIMUM_PENDING);
  private final Object enqueueing = new Object();
  private volatile boolean closed;
  private final Thread thread;

  CpuCopyEngine(LinkThrottle throttle) {
    this.throttle = throttle;
    this.thread = Thread.ofPlatform().daemon().name("pipelane-cpu-copies").unstarted(this::work);
  }

  CpuCopyEngine start() {
    thread.start();
    return this;
  }

  @Override
  public DeviceEvent copy(
      WeightSource source, long sourceOffset, AddressRange range, long rangeOffset, long bytes) {
    if (!(range instanceof CpuAddressRange cpuRange)) {
      throw new IllegalArgumentException("the address range belongs to another device");
    }
    Objects.checkFromIndexSize(sourceOffset, bytes, source.byteSize());
    Completion event = new Completion();
    cpuRange.pin(rangeOffset, bytes);
    boolean accepted = false;
    try {
      synchronized (enqueueing) {
        if (closed) {
          throw new IllegalStateException("the device is closed");
        }
        long now = throttle.nanoTime();
        Copy copy = new Copy(source, sourceOffset, cpuRange, rangeOffset, bytes, now, event);
        accepted = pending.offer(() -> carryOut(copy));
      }
    } finally {
      if (!accepted) {
        cpuRange.unpin(rangeOffset, bytes);
      }
    }
    if (!accepted) {
      throw new StatusException(
          Status.UNAVAILABLE, "more than " + MAXIMUM_PENDING + " copies are pending; await some");
    }
    return event;
  }

  private void work() {
    while (!closed || !pending.isEmpty()) {
      try {
        pending.take().run();
      } catch (InterruptedException e) {
        // Nobody has a reason to interrupt this thread; copies go on.
      }
    }
  }

  private void carryOut(Copy copy) {
    Throwable failure = null;
    try {
      for (long done = 0; done < copy.bytes && !closed; ) {
        long piece = Math.min(PIECE_BYTES, copy.bytes - done);
        MemorySegment target = copy.range.content(copy.rangeOffset + done, piece);
        copy.source.read(copy.sourceOffset + done, target);
        done += target.byteSize();
      }
      throttle.pace(copy.enqueuedAtNanos, copy.bytes, () -> closed);
    } catch (Throwable e) {
      failure = e;
    }
    finish(copy, closed ? closedBefore() : failure);
  }

  private static void finish(Copy copy, @Nullable Throwable failure) {
    copy.range.unpin(copy.rangeOffset, copy.bytes);
    copy.event.complete(failure);
  }

  private static StatusException closedBefore() {
    return new StatusException(Status.UNAVAILABLE, "the device was closed before the copy's end");
  }

  /** Ends the thread; copies that have not ended fail. */
  @Override
  public void close() {
    synchronized (enqueueing) {
      if (closed) {
        return;
      }
      closed = true;
      // Wakes the thread where it waits for work; with a full queue it does not.
      boolean woken = pending.offer(() -> {});
      assert woken || pending.remainingCapacity() == 0;
    }
    LockSupport.unpark(thread);
    ThreadEnd.await(thread);
  }
}
