package io.pipelane.lanes.cuda;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.CompletionThread.Issued;
import io.pipelane.lanes.cuda.copy.BorrowedLinks;
import io.pipelane.lanes.cuda.copy.CopyStream;
import io.pipelane.lanes.cuda.copy.InFlight;
import io.pipelane.lanes.cuda.copy.LentLink;
import io.pipelane.lanes.cuda.copy.MarkPool;
import io.pipelane.lanes.cuda.copy.StagingBuffers;
import io.pipelane.lanes.cuda.copy.StreamProgress;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaMark;
import io.pipelane.lanes.cuda.driver.CudaStream;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The work of the thread that maps pages and enqueues copies, so that nobody else waits for the
 * driver: commands in their order, pages mapped just ahead of the copies into them.
 */
final class CopyThread implements Runnable {
  /*
   * Mapping is done when a copy needs it, or when somebody waits for a range to settle, between
   * pieces of copies and commands. Unmapping is done when there is nothing else to do
   * (MappingWork).
   *
   * Between pieces the thread waits for its stream in memory (InFlight): asking the driver again
   * and again would keep lanes from launching. With borrowed links it looks at all in turn, its own
   * first, and each takes the next piece when it can. So pieces arrive about in their order.
   *
   * The thread is never interrupted: an interrupt would close the file channel that a source reads
   * from.
   */

  private static final System.Logger LOG = System.getLogger(CopyThread.class.getName());

  /** A device whose link has done nothing for so long has failed; the driver tells how. */
  private static final long PATIENCE_NANOS = 1_000_000_000;

  private final CudaContext context;
  private final CudaStream stream;
  private final StagingBuffers staging;
  private final MarkPool marks;
  private final StreamProgress progress;
  private final @Nullable ArrivalCount arrivals;
  private final InFlight inFlight;
  private final HandOver<Command> commands;
  private final HandOver<Issued> issued;
  private final BooleanSupplier closed;
  private final LongAdder borrowedBytes = new LongAdder();
  private final LongAdder peerBytes = new LongAdder();
  private final MappingWork mapping = new MappingWork(this::requireOpen);
  private @Nullable BorrowedLinks borrowed;

  CopyThread(
      CudaContext context,
      CopyStream own,
      @Nullable ArrivalCount arrivals,
      HandOver<Command> commands,
      HandOver<Issued> issued,
      BooleanSupplier closed) {
    this.context = context;
    this.stream = own.stream();
    this.staging = own.staging();
    this.marks = own.marks();
    this.progress = own.progress();
    this.arrivals = arrivals;
    this.inFlight = new InFlight(own.prompt());
    this.commands = commands;
    this.issued = issued;
    this.closed = closed;
  }

  @Override
  public void run() {
    context.bind();
    boolean stopped = false;
    while (!stopped) {
      switch (next()) {
        case null -> mapping.step();
        case Command.Plan plan -> {
          plan.mappings().plan(plan.slot(), plan.handle(), plan.zeroed());
          mapping.note(plan.mappings());
        }
        case Command.Copy copy -> carryOut(copy);
        case Command.SettleRange settle -> mapping.await(settle);
        case Command.Settle settle -> settle.done().complete(mapping.finish());
        case Command.Free free -> free(free.range());
        case Command.Borrow borrow -> borrow(borrow.link());
        case Command.Stop stop -> stopped = true;
      }
    }
    mapping.finishAwaited();
    issued.give(new Issued(null, null, progress, 0, null));
  }

  /** Null where there is something to map meanwhile. */
  private @Nullable Command next() {
    if (mapping.isAwaited()) {
      return commands.poll();
    }
    boolean idle = mapping.isDone() || closed.getAsBoolean();
    return idle ? commands.take() : commands.lookOut();
  }

  /** Gives back what it has taken of other devices; the thread must have ended, and all copies. */
  void close() {
    if (borrowed != null) {
      borrowed.close();
    }
  }

  /** What has come in over borrowed links; any thread may ask. */
  long borrowedBytes() {
    return borrowedBytes.sum();
  }

  /** What has come in from other devices' memory; any thread may ask. */
  long peerBytes() {
    return peerBytes.sum();
  }

  private void borrow(LentLink link) {
    try {
      if (borrowed == null) {
        borrowed = new BorrowedLinks(context);
        inFlight.takeTurns();
      }
      borrowed.add(link);
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.WARNING, "another device's link cannot be borrowed", e);
    }
  }

  private void carryOut(Command.Copy copy) {
    Throwable failure = null;
    mapping.stepAwaited();
    try {
      transfer(copy);
    } catch (Throwable e) { // A source may fail as it likes; the thread must live on.
      failure = e;
    }
    CudaMark mark = null;
    StreamProgress passing = borrowed == null ? progress : borrowed.progress();
    int passed = 0;
    try {
      // Behind a failed copy too: a part of it may be on its way.
      mark = marks.take();
      CudaStream end = borrowed == null ? stream : borrowed.joined(stream);
      end.record(mark);
      passed = passing.mark();
      count(copy, end);
    } catch (RuntimeException e) {
      failure = failure == null ? e : failure;
    }
    if (failure == null && mark != null) {
      copy.event().issue(mark);
    }
    issued.give(new Issued(copy, mark, passing, passed, failure));
  }

  /** Those that failed too: whoever waits for them must go on, to hear of it. */
  private void count(Command.Copy copy, CudaStream end) {
    if (arrivals != null && copy.event().number().isPresent()) {
      arrivals.set(end, copy.event().number().getAsInt());
    }
  }

  private void transfer(Command.Copy copy) {
    requireOpen();
    long device = copy.range().address() + copy.rangeOffset();
    if (copy.source() instanceof CudaPeerPages.Weights there) {
      mapping.finishAwaited();
      copyFromPeer(copy, there, device);
      return;
    }
    Optional<MemorySegment> memory =
        copy.source().memory().map(all -> all.asSlice(copy.sourceOffset(), copy.bytes()));
    if (memory.isPresent() && context.isPinned(memory.get())) {
      copyInPieces(copy, device, memory.get().address());
    } else {
      mapping.finishAwaited(); // Reading may take long.
      settle(copy, 0, copy.bytes());
      staging.copy(copy.source(), copy.sourceOffset(), device, copy.bytes(), closed);
      requireOpen();
    }
  }

  /** Inputs of requests that come meanwhile pass another link, so all of it is enqueued at once. */
  private void copyFromPeer(Command.Copy copy, CudaPeerPages.Weights there, long device) {
    there.eachAddress(
        copy.sourceOffset(),
        copy.bytes(),
        (at, address, bytes) -> {
          settle(copy, at, bytes);
          stream.copyWithin(device + at, address, bytes);
          peerBytes.add(bytes);
        });
  }

  /** Pages are mapped while the pieces before are on their way. */
  private void copyInPieces(Command.Copy copy, long device, long host) {
    long at = 0;
    while (at < copy.bytes()) {
      settle(copy, at, Math.min(copy.bytes() - at, LentLink.PIECE_BYTES)); // While links are busy.
      long piece = awaitOwnRoom(copy.bytes() - at);
      if (piece > 0) {
        settle(copy, at, piece);
        stream.copyToDevice(device + at, host + at, piece);
        inFlight.add(piece);
      } else {
        piece = sendBorrowed(copy, at, device, host);
      }
      at += piece;
    }
  }

  /** What the device's own link takes next; 0 where a borrowed one can take something now. */
  private long awaitOwnRoom(long remaining) {
    long piece = inFlight.room(remaining);
    while (piece == 0 && mapping.isAwaited() && !isBorrowedIdle()) {
      mapping.stepAwaited();
      piece = inFlight.room(remaining);
    }
    if (piece > 0) {
      return piece;
    }
    if (borrowed == null) {
      return inFlight.awaitRoom(remaining);
    }
    long begin = System.nanoTime();
    while (piece == 0 && !isBorrowedIdle()) {
      Thread.onSpinWait();
      boolean late = System.nanoTime() - begin > PATIENCE_NANOS;
      piece = late ? inFlight.awaitRoom(remaining) : inFlight.room(remaining);
    }
    return piece;
  }

  private boolean isBorrowedIdle() {
    return borrowed != null && borrowed.anyIdle();
  }

  /** Answers how much it has sent, which is nothing when somebody else was faster. */
  private long sendBorrowed(Command.Copy copy, long at, long device, long host) {
    long piece = Math.min(copy.bytes() - at, LentLink.PIECE_BYTES);
    if (borrowed == null || !borrowed.trySend(host + at, device + at, piece)) {
      return 0;
    }
    borrowedBytes.add(piece);
    return piece;
  }

  private void settle(Command.Copy copy, long at, long bytes) {
    copy.range().settle(copy.rangeOffset() + at, bytes);
    mapping.note(copy.range().mappings());
  }

  private void free(CudaAddressRange range) {
    mapping.finishAwaited();
    mapping.forget(range.mappings());
    try {
      range.release();
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.WARNING, "an address range could not be given back", e);
    }
  }

  private void requireOpen() {
    if (closed.getAsBoolean()) {
      throw new StatusException(Status.UNAVAILABLE, "the device was closed before the copy's end");
    }
  }
}
