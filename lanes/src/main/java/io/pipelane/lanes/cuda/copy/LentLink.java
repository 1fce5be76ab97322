package io.pipelane.lanes.cuda.copy;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.pipelane.lanes.Releases;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaMark;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.DeviceBuffer;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * A device's link, lent to other devices for single pieces of their weights while the device has
 * none of its own on the way (parallel transmission, as DeepPlan has it). A piece comes into a
 * buffer there, and its receiver fetches it from the buffer. Safe for any thread.
 */
public final class LentLink implements AutoCloseable {
  /*
   * Whoever has the lock enqueues on `arriving`, uses buffers and looks at them; after closing
   * there is nothing to look at. The receiver's stream writes to `emptied` behind the fetch. So
   * nobody waits for anybody. A buffer that is not free, or a lock that is taken, means that the
   * link is busy.
   */

  /**
   * What one piece has at most. Inputs of the lender that come meanwhile wait for the pieces that
   * are on the way; a copy costs some microseconds beside its bytes.
   */
  public static final long PIECE_BYTES = 4L << 20;

  private static final int BUFFERS = 3;
  private static final long END_NANOS = 1_000_000_000;

  private final CudaContext lender;
  private final BooleanSupplier busy;
  private final CudaStream arriving;
  private final DeviceBuffer memory;
  private final PinnedHostMemory emptied;
  private final LentBuffers buffers;
  private final List<CudaMark> arrived = new ArrayList<>();
  private final ReentrantLock lock = new ReentrantLock();
  private final Releases releases = new Releases();
  private boolean closed;

  /**
   * A link to lend.
   *
   * @param busy whether the lender needs its link, or is lost
   */
  public LentLink(CudaContext lender, BooleanSupplier busy) {
    this.lender = lender;
    this.busy = busy;
    try (Releases undo = new Releases()) {
      arriving = undo.add(CudaStream.open(lender));
      memory = undo.add(DeviceBuffer.allocate(lender, byteSize()));
      emptied = undo.add(PinnedHostMemory.allocate(lender, BUFFERS * JAVA_INT.byteSize()));
      for (int i = 0; i < BUFFERS; i++) {
        arrived.add(undo.add(CudaMark.untimed(lender)));
      }
      undo.keep();
    }
    buffers = new LentBuffers(emptied.segment(), System::nanoTime);
    releases.add(arriving);
    releases.add(memory);
    releases.add(emptied);
    arrived.forEach(releases::add);
  }

  /** The lender's memory that it takes. */
  public static long byteSize() {
    return BUFFERS * PIECE_BYTES;
  }

  /** Whether a piece could be sent now. */
  boolean isIdle() {
    if (busy.getAsBoolean() || !lock.tryLock()) {
      return false;
    }
    try {
      return !closed && buffers.isFree(buffers.next());
    } finally {
      lock.unlock();
    }
  }

  /**
   * Enqueues a piece, unless the link is busy; the receiver's context must be bound, and is
   * afterwards.
   *
   * @param host pinned memory
   * @param fetches the receiver's stream that the piece will have come in on
   * @return false when it was busy, and nothing was enqueued
   * @throws io.pipelane.lanes.cuda.driver.CudaException when the lender cannot; the receiver has
   *     not been given anything then
   */
  boolean trySend(long host, long device, long bytes, CudaStream fetches) {
    if (busy.getAsBoolean() || !lock.tryLock()) {
      return false;
    }
    try {
      int buffer = buffers.next();
      if (closed || !buffers.isFree(buffer)) {
        return false;
      }
      long there = memory.address() + buffer * PIECE_BYTES;
      bringIn(host, there, bytes, arrived.get(buffer), fetches.context());
      fetches.waitFor(arrived.get(buffer));
      fetches.copyFrom(lender, device, there, bytes);
      long word = emptied.address() + LentBuffers.wordOffset(buffer);
      fetches.write(word, buffers.use(fetches::hasFailed));
      return true;
    } finally {
      lock.unlock();
    }
  }

  private void bringIn(long host, long there, long bytes, CudaMark mark, CudaContext receiver) {
    lender.bind();
    try {
      arriving.copyToDevice(there, host, bytes);
      arriving.record(mark);
    } finally {
      receiver.bind();
    }
  }

  /** Lends no more, and gives everything back once receivers have fetched what is here. */
  @Override
  public void close() {
    lock.lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
    } finally {
      lock.unlock();
    }
    long begin = System.nanoTime();
    for (int i = 0; i < BUFFERS; i++) {
      // A receiver that has failed fetches nothing any more.
      while (!buffers.isFree(i) && System.nanoTime() - begin < END_NANOS) {
        Thread.onSpinWait();
      }
    }
    releases.close();
  }
}
