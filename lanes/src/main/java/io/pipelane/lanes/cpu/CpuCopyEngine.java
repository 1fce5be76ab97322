package io.pipelane.lanes.cpu;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.CopyEngine;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.completion.Completion;
import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.modelstore.WeightSource;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** A thread that copies weights into mapped pages, in the order in which copies were given. */
final class CpuCopyEngine implements CopyEngine, AutoCloseable {
  /*
   * The thread is never interrupted: an interrupt would close the file channel that a source reads
   * from. It ends when `closed` is set and the queue is empty; what it finds in the queue then fails
   * without being carried out.
   *
   * Links are lent where they have a rate: without one, a second thread would bring no more through
   * the memory. The lender's thread carries pieces until its device has a copy of its own.
   *
   * What gives pages memory of their own waits behind all copies, after each piece.
   */

  private static final System.Logger LOG = System.getLogger(CpuCopyEngine.class.getName());

  /** Copies that may wait; a model of many gigabytes in groups of a page stays far below it. */
  static final int MAXIMUM_PENDING = 1 << 16;

  /** Copies look for the end of the engine this often. */
  private static final long PIECE_BYTES = 8L << 20;

  /** Smaller copies are not worth sharing. */
  private static final long LEAST_SHARED_BYTES = 2 * CopyInPieces.PIECE_BYTES;

  private record Copy(
      WeightSource source,
      long sourceOffset,
      CpuAddressRange range,
      long rangeOffset,
      long bytes,
      long enqueuedAtNanos,
      Completion event) {}

  private final LinkThrottle throttle;
  private final @Nullable StandingFiles files;
  private final Runnable clearGone;
  private final BlockingQueue<Runnable> pending = new ArrayBlockingQueue<>(MAXIMUM_PENDING);
  private final Object enqueueing = new Object();
  private final List<CpuCopyEngine> lenders = new CopyOnWriteArrayList<>();
  private final AtomicInteger unended = new AtomicInteger(); // copies to this device
  private final LongAdder borrowedBytes = new LongAdder();
  private final LongAdder peerBytes = new LongAdder();
  private volatile BooleanSupplier lendable = () -> true;
  private volatile boolean closed;
  private final Thread thread;

  /**
   * An engine that has not been started.
   *
   * @param files shown in place of being copied a second time; null where everything is copied
   * @param clearGone has ranges take away what is left of files that nobody can show any more
   */
  CpuCopyEngine(LinkThrottle throttle, @Nullable StandingFiles files, Runnable clearGone) {
    this.clearGone = clearGone;
    this.throttle = throttle;
    this.files = files;
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
    long shown = show(source, sourceOffset, cpuRange, rangeOffset, bytes);
    return shown == bytes && bytes > 0
        ? Completion.DONE
        : enqueue(source, sourceOffset + shown, cpuRange, rangeOffset + shown, bytes - shown);
  }

  /** Has the range show what it can of the source; how much that is. */
  private long show(
      WeightSource source, long sourceOffset, CpuAddressRange range, long offset, long bytes) {
    @Nullable StandingFile file = range.showsFiles() ? standing(source) : null;
    return file == null ? 0 : range.show(file, sourceOffset, offset, bytes);
  }

  @Override
  public long atHand(WeightSource source, long offset, long bytes) {
    @Nullable StandingFile file = standing(source);
    return file == null ? 0 : Math.min(bytes, file.writtenBytesFrom(offset));
  }

  private @Nullable StandingFile standing(WeightSource source) {
    return files == null ? null : source.memory().map(files::find).orElse(null);
  }

  @Override
  public long show(
      WeightSource source, long sourceOffset, AddressRange range, long rangeOffset, long bytes) {
    return range instanceof CpuAddressRange cpuRange
        ? show(source, sourceOffset, cpuRange, rangeOffset, bytes)
        : 0;
  }

  /** Has a page be given memory of its own, behind all copies; fails where it cannot be now. */
  DeviceEvent own(OwnContent content) {
    boolean accepted;
    synchronized (enqueueing) {
      accepted = !closed && pending.offer(() -> carryOn(content));
    }
    if (!accepted) {
      content.end(closed ? closedBefore() : tooMany());
    }
    return content.event();
  }

  private void carryOn(OwnContent content) {
    try {
      boolean goesOn = true;
      while (goesOn && !closed) {
        goesOn = content.carryOn();
        if (goesOn && !pending.isEmpty() && pending.offer(() -> carryOn(content))) {
          return;
        }
      }
      content.end(goesOn ? closedBefore() : null);
    } catch (RuntimeException | Error e) { // The thread must live on: it makes all copies.
      content.end(e);
    }
  }

  private DeviceEvent enqueue(
      WeightSource source,
      long sourceOffset,
      CpuAddressRange cpuRange,
      long rangeOffset,
      long bytes) {
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
        unended.addAndGet(accepted ? 1 : 0);
      }
    } finally {
      if (!accepted) {
        cpuRange.unpin(rangeOffset, bytes);
      }
    }
    if (!accepted) {
      throw tooMany();
    }
    return event;
  }

  private void work() {
    while (!closed || !pending.isEmpty()) {
      try {
        @Nullable Runnable next = pending.poll();
        if (next == null && !writesTables()) {
          dropGone();
          next = pending.take();
        }
        if (next != null) {
          next.run();
        }
      } catch (InterruptedException e) {
        // Nobody has a reason to interrupt this thread; copies go on.
      }
    }
  }

  /** Whether the link is held down to a rate. */
  boolean isLimited() {
    return throttle.isLimited();
  }

  private void carryOut(Copy copy) {
    Throwable failure;
    try {
      if (!closed) {
        copy.range.prepare(copy.rangeOffset, copy.bytes);
      }
      failure = carry(copy);
      keep(copy);
    } catch (Throwable e) { // A source may fail as it likes; the thread must live on.
      failure = e;
    }
    finish(copy, closed ? closedBefore() : failure);
  }

  /** Has what is copied out of a file once more be ready to be shown. */
  private void keep(Copy copy) {
    if (files != null && copy.range.showsFiles()) {
      try {
        copy.source.memory().ifPresent(file -> files.copied(file, copy.sourceOffset, copy.bytes));
      } catch (RuntimeException | Error e) { // It is copied again, then.
        LOG.log(Level.WARNING, "weights cannot be shown where they lie", e);
      }
    }
  }

  /** Has one more part of a file be ready; false when all are. */
  private boolean writesTables() {
    try {
      return files != null && files.writeNext();
    } catch (RuntimeException | Error e) { // The thread must live on: it makes all copies.
      LOG.log(Level.WARNING, "weights cannot be shown where they lie", e);
      return true;
    }
  }

  /** Has the thread look what has gone as after a copy, in case it has nothing to do. */
  void lookForGone() {
    if (files != null && pending.isEmpty()) {
      boolean _ = pending.offer(() -> {});
    }
  }

  /** Has nothing be kept of files that nobody can show any more, while there is nothing to copy. */
  private void dropGone() {
    try {
      if (files != null && files.hasGone()) {
        clearGone.run();
        files.dropGone();
      }
    } catch (RuntimeException | Error e) { // It is tried again when there is nothing to copy.
      LOG.log(Level.WARNING, "a weights file that nobody needs is kept", e);
    }
  }

  private @Nullable Throwable carry(Copy copy) {
    if (copy.source instanceof CpuPeerPages.Weights) {
      fill(copy); // Past all links, so at no link's rate.
      peerBytes.add(copy.bytes);
    } else if (lenders.isEmpty() || copy.bytes < LEAST_SHARED_BYTES) {
      fill(copy);
      throttle.pace(copy.enqueuedAtNanos, copy.bytes, () -> closed);
    } else {
      return carryTogether(copy);
    }
    return null;
  }

  private void fill(Copy copy) {
    for (long done = 0; done < copy.bytes && !closed; done += PIECE_BYTES) {
      long piece = Math.min(PIECE_BYTES, copy.bytes - done);
      copy.range.fill(copy.source, copy.sourceOffset + done, copy.rangeOffset + done, piece);
    }
  }

  private @Nullable Throwable carryTogether(Copy copy) {
    CopyInPieces pieces =
        new CopyInPieces(copy.source, copy.sourceOffset, copy.range, copy.rangeOffset, copy.bytes);
    lenders.forEach(lender -> lender.help(pieces));
    Throwable failure = pieces.carryAll(throttle, copy.enqueuedAtNanos, () -> closed);
    borrowedBytes.add(pieces.borrowedBytes());
    if (failure == null) { // What fails over every link is no lender's fault.
      lenders.removeIf(lender -> hasFailed(lender, pieces));
    }
    return failure;
  }

  private static boolean hasFailed(CpuCopyEngine lender, CopyInPieces pieces) {
    Throwable failure = pieces.failureOf(lender.throttle);
    if (failure != null) {
      LOG.log(Level.WARNING, "a borrowed link is used no more", failure);
    }
    return failure != null;
  }

  /** Carries pieces for another device, when there is nothing to carry for this one. */
  private void help(CopyInPieces pieces) {
    synchronized (enqueueing) {
      if (!needsItsLink() && pending.isEmpty()) {
        long now = throttle.nanoTime();
        boolean _ = pending.offer(() -> pieces.help(throttle, now, this::needsItsLink));
      }
    }
  }

  private boolean needsItsLink() {
    return closed || unended.get() > 0 || !lendable.getAsBoolean();
  }

  /** Lends the link only while somebody says so. */
  void lendWhile(BooleanSupplier idle) {
    lendable = idle;
  }

  /**
   * Lets another engine carry pieces of this one's copies from now on.
   *
   * @return false where that would bring nothing
   */
  boolean borrow(CpuCopyEngine lender) {
    return lender != this && lender.throttle.isLimited() && lenders.add(lender);
  }

  @Override
  public long aloneBytes() {
    return LEAST_SHARED_BYTES;
  }

  @Override
  public long borrowedBytes() {
    return borrowedBytes.sum();
  }

  @Override
  public long peerBytes() {
    return peerBytes.sum();
  }

  private void finish(Copy copy, @Nullable Throwable failure) {
    copy.range.unpin(copy.rangeOffset, copy.bytes);
    unended.decrementAndGet();
    copy.event.complete(failure);
  }

  private static StatusException tooMany() {
    return new StatusException(
        Status.UNAVAILABLE, "more than " + MAXIMUM_PENDING + " copies are pending; await some");
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
