package io.pipelane.lanes.process.channel;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** One end of a channel: a ring to the other side and one back. Belongs to one thread at a time. */
public final class ChannelEnd {
  private static final long ARRIVALS = 0; // written by the server
  private static final long GO = ARRIVALS + Signal.BYTES; // written by both
  private static final long PROGRESS = GO + GoWord.BYTES; // written by the worker
  private static final long TO_WORKER = PROGRESS + Progress.BYTES;
  static final long TO_SERVER = TO_WORKER + RingMemory.BYTES;
  static final long BYTES = (TO_SERVER + RingMemory.BYTES + 4095) & -4096;

  private final Signal arrivals;
  private final GoWord go;
  private final Progress progress;
  private final RingWriter outgoing;
  private final RingReader incoming;
  private final MessageWriter message = new MessageWriter();

  private ChannelEnd(MemorySegment memory, long outgoing, long incoming) {
    this.arrivals = new Signal(memory.asSlice(ARRIVALS, Signal.BYTES));
    this.progress = new Progress(memory.asSlice(PROGRESS, Progress.BYTES));
    this.go = new GoWord(memory.asSlice(GO, GoWord.BYTES), progress);
    this.outgoing = new RingWriter(memory.asSlice(outgoing, RingMemory.BYTES));
    this.incoming = new RingReader(memory.asSlice(incoming, RingMemory.BYTES));
  }

  static ChannelEnd ofServer(MemorySegment memory) {
    return new ChannelEnd(memory, TO_WORKER, TO_SERVER);
  }

  static ChannelEnd ofWorker(MemorySegment memory) {
    return new ChannelEnd(memory, TO_SERVER, TO_WORKER);
  }

  /**
   * Sends a message and wakes who waits for it.
   *
   * @throws IndexOutOfBoundsException when it does not fit a ring; nothing was sent then
   * @throws ProtocolException when the other side does not read
   */
  public void send(Message what) {
    message.begin();
    what.write(message);
    outgoing.write(MessageType.of(what), message.body());
  }

  /**
   * The same, unless it does not fit a ring.
   *
   * @return whether it was sent
   */
  public boolean offer(Message what) {
    try {
      send(what);
      return true;
    } catch (IndexOutOfBoundsException e) {
      return false;
    }
  }

  /** Wakes who waits for a message, which is about to come: waking up takes longer than it does. */
  public void rouse() {
    outgoing.rouse();
  }

  /**
   * Takes a message that has come.
   *
   * @return null when there is none
   * @throws ProtocolException when what has come cannot be
   */
  public @Nullable Message poll() {
    return incoming.next()
        ? MessageType.read(incoming.type(), new MessageReader(incoming.body()))
        : null;
  }

  /** Whether the other side has taken all that was sent. */
  public boolean isTaken() {
    return outgoing.isRead();
  }

  /** A mark to take before {@link #poll}, and to wait from when that answered nothing. */
  public int mark() {
    return incoming.signal().value();
  }

  /** Waits until something may have come since a mark; false when the time was over before. */
  public boolean awaitSince(int mark, long nanos) {
    return awaitSince(mark, nanos, 0);
  }

  /** The same, staying awake so long at least. */
  public boolean awaitSince(int mark, long nanos, long awakeNanos) {
    return incoming.signal().awaitChange(mark, nanos, awakeNanos);
  }

  /** Wakes who waits at this end, when the other side never will; on any thread. */
  public void wake() {
    incoming.signal().raise();
  }

  /** Segments of the lane's run whose weights have arrived; negative when they will not. */
  public Signal arrivals() {
    return arrivals;
  }

  /** Whether the lane's run may go on. */
  public GoWord go() {
    return go;
  }

  public Progress progress() {
    return progress;
  }
}
