package io.pipelane.lanes.cuda;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.CopyEngine;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.Releases;
import io.pipelane.lanes.completion.Completion;
import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.lanes.cuda.CompletionThread.Issued;
import io.pipelane.lanes.cuda.copy.CopyStream;
import io.pipelane.lanes.cuda.copy.CudaEvent;
import io.pipelane.lanes.cuda.copy.InFlight;
import io.pipelane.lanes.cuda.copy.LentLink;
import io.pipelane.lanes.cuda.copy.MarkPool;
import io.pipelane.lanes.cuda.copy.Progress;
import io.pipelane.lanes.cuda.copy.PromptProgress;
import io.pipelane.lanes.cuda.copy.StagingBuffers;
import io.pipelane.lanes.cuda.copy.StreamProgress;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.modelstore.WeightSource;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The device's copies, and the mapping of pages ahead of them: one stream, a thread that enqueues
 * and a thread that completes events.
 */
final class CudaCopyEngine implements CopyEngine, AutoCloseable {
  /*
   * Commands are given under `enqueueing`, so that none comes behind the one that ends the thread.
   * A copy is counted in `pending` from its command to its event.
   */

  /** Copies that may wait; a model of many gigabytes in groups of a page stays far below it. */
  static final int MAXIMUM_PENDING = 1 << 16;

  private static final long SPIN_NANOS = 20_000;

  private final CopyStream weights;
  private final CudaStream zeroing;
  private final HandOver<Command> commands = new HandOver<>(SPIN_NANOS);
  private final AtomicInteger pending = new AtomicInteger();
  private final Object enqueueing = new Object();
  private final boolean counted;
  private final CopyThread copyThread;
  private int enqueued; // guarded by `enqueueing`
  private volatile boolean closed;
  private final Thread copying;
  private final Thread completing;

  /**
   * An engine.
   *
   * @param arrivals counts the copies that have ended, for other processes; null where there are
   *     none
   */
  CudaCopyEngine(CudaContext context, @Nullable ArrivalCount arrivals) {
    this.counted = arrivals != null;
    HandOver<Issued> issued = new HandOver<>(SPIN_NANOS);
    try (Releases undo = new Releases()) {
      CudaStream stream = undo.add(CudaStream.open(context));
      zeroing = undo.add(CudaStream.open(context));
      StreamProgress progress = undo.add(new StreamProgress(stream));
      Progress prompt = new PromptProgress(progress);
      StagingBuffers staging = undo.add(new StagingBuffers(stream, prompt));
      MarkPool marks = undo.add(new MarkPool(context));
      weights = new CopyStream(stream, staging, marks, progress, prompt);
      undo.keep();
    }
    copyThread = new CopyThread(context, weights, arrivals, commands, issued, () -> closed);
    String suffix = "-cuda" + context.index();
    copying = Thread.ofPlatform().daemon().name("pipelane-copies" + suffix).unstarted(copyThread);
    completing =
        Thread.ofPlatform()
            .daemon()
            .name("pipelane-completions" + suffix)
            .unstarted(new CompletionThread(context, weights.marks(), issued));
  }

  CudaCopyEngine start() {
    copying.start();
    completing.start();
    return this;
  }

  @Override
  public DeviceEvent copy(
      WeightSource source, long sourceOffset, AddressRange range, long rangeOffset, long bytes) {
    if (!(range instanceof CudaAddressRange cudaRange)) {
      throw new IllegalArgumentException("the address range belongs to another device");
    }
    Objects.checkFromIndexSize(sourceOffset, bytes, source.byteSize());
    cudaRange.pin(rangeOffset, bytes);
    try {
      if (pending.incrementAndGet() > MAXIMUM_PENDING) {
        throw new StatusException(
            Status.UNAVAILABLE, "more than " + MAXIMUM_PENDING + " copies are pending; await some");
      }
      synchronized (enqueueing) {
        // Commands are carried out in the order of their numbers.
        CudaEvent event = counted ? new CudaEvent(++enqueued) : new CudaEvent();
        give(new Command.Copy(source, sourceOffset, cudaRange, rangeOffset, bytes, event));
        event.whenDone(pending::decrementAndGet);
        return event;
      }
    } catch (RuntimeException e) {
      pending.decrementAndGet();
      cudaRange.unpin(rangeOffset, bytes);
      throw e;
    }
  }

  /**
   * The stream that weights come in on while some do: what is copied to the device meanwhile comes
   * soonest when it is enqueued there.
   */
  Optional<CudaStream> busyStream() {
    return isBusy() ? Optional.of(weights.stream()) : Optional.empty();
  }

  /** Whether copies are on their way, or wait to be. */
  boolean isBusy() {
    return pending.get() > 0;
  }

  /** Lets copies pass another device's link too, those that are given later. */
  void borrow(LentLink link) {
    give(new Command.Borrow(link));
  }

  @Override
  public long aloneBytes() {
    return InFlight.LEAST_BYTES;
  }

  @Override
  public long borrowedBytes() {
    return copyThread.borrowedBytes();
  }

  @Override
  public long peerBytes() {
    return copyThread.peerBytes();
  }

  /**
   * Lets something else lie under a slot, before any copy that is given later.
   *
   * @param zeroed whether what lies there is to be zero then
   */
  void plan(SlotMappings mappings, int slot, long handle, boolean zeroed) {
    give(new Command.Plan(mappings, slot, handle, zeroed));
  }

  /**
   * Zeroes device memory, on the copy thread. On a stream of its own: so it is awaited without the
   * copies that are on their way, and whatever link the next ones take, they come later.
   */
  void zero(long address, long bytes) {
    zeroing.fill(address, (byte) 0, bytes);
    zeroing.synchronize();
  }

  /** Happens once everything planned for a range's first slots is carried out. */
  DeviceEvent settle(CudaAddressRange range, int slots) {
    CudaEvent event = new CudaEvent();
    give(new Command.SettleRange(range.mappings(), slots, event));
    return event;
  }

  /** Blocks until everything planned so far is carried out. */
  void settle() {
    Completion done = new Completion();
    give(new Command.Settle(done));
    done.await();
  }

  /**
   * Lets a range without pages give its addresses back.
   *
   * @return false when the engine is closed and its owner has to do it
   */
  boolean free(CudaAddressRange range) {
    synchronized (enqueueing) {
      if (!closed) {
        commands.give(new Command.Free(range));
      }
      return !closed;
    }
  }

  private void give(Command command) {
    synchronized (enqueueing) {
      if (closed) {
        throw new IllegalStateException("the device is closed");
      }
      commands.give(command);
    }
  }

  /** Ends the threads; copies that have not been enqueued on the device fail. */
  @Override
  public void close() {
    synchronized (enqueueing) {
      if (closed) {
        return;
      }
      closed = true;
      commands.give(new Command.Stop());
    }
    ThreadEnd.await(copying);
    ThreadEnd.await(completing);
    try (Releases releases = new Releases()) {
      releases.add(weights.stream());
      releases.add(zeroing);
      releases.add(copyThread, CopyThread::close);
      releases.add(weights.staging());
      releases.add(weights.marks());
      releases.add(weights.progress());
    }
  }
}
