package io.pipelane.lanes.cpu;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/**
 * A file that is mapped for good where nobody reads it, with its page tables. Those move under the
 * addresses that are to show a part of it, and back. Safe for any thread.
 */
final class StandingFile implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(StandingFile.class.getName());

  /*
   * To move a file's page tables takes some microseconds, whatever its size. To have the kernel
   * write them as memory is touched takes as long as copying the file. They are written once, by
   * the copy thread, when it has nothing to copy.
   *
   * Nothing but speed depends on where the tables are: a part that is shown twice, or that the
   * system has dropped, is faulted in as it is touched. The mapping keeps the file, whatever
   * becomes of the one that it was made of.
   *
   * Parts that have come back one by one are one mapping again, but not on file systems like FUSE
   * and 9p. There the system refuses to move several as one, when what lay at the addresses is gone
   * already and others may map something there. So that is found out where nothing is lost, before
   * the first tables are written. Where a part does not come back its place is mapped anew from where
   * it is shown, so that no others' memory comes to lie among the file's addresses.
   */
  private final MemorySegment.Scope scope;
  private final Reservation addresses;
  private final TableMoves moves;
  private final long partBytes;
  private final long bytes;
  private final BitSet written = new BitSet();
  private final BitSet lost = new BitSet(); // parts that are not mapped any more
  private boolean tried;
  private boolean refused;
  private int users;
  private volatile boolean movesTogether; // several parts as one

  /**
   * Maps a file a second time.
   *
   * @param file mapped from its beginning, in full
   * @param partBytes what is moved at once, a power of two
   */
  StandingFile(MemorySegment file, long partBytes, TableMoves moves) {
    this.scope = file.scope();
    this.moves = moves;
    this.partBytes = partBytes;
    this.bytes = LibC.wholePages(file.byteSize());
    this.addresses = Reservation.of(bytes, Math.max(partBytes, LibC.HUGE_PAGE_BYTES));
    try {
      moves.mapSameAt(addresses.address(), bytes, file.address());
    } catch (RuntimeException e) {
      addresses.close();
      throw e;
    }
  }

  /** Whether the mapping that this was made of is gone, and nobody shows a part of it. */
  synchronized boolean isLeft() {
    return users == 0 && isGone();
  }

  /** Whether the mapping that this was made of is gone, so that nobody finds this any more. */
  boolean isGone() {
    return !scope.isAlive();
  }

  /** Whether several parts can be moved as one, once they have come back one by one. */
  boolean movesTogether() {
    return movesTogether;
  }

  /** Counts somebody who shows a part. */
  synchronized void use() {
    users++;
  }

  synchronized void leave() {
    users--;
  }

  /**
   * Writes a part's tables, unless that has been done; reads what is not in memory. For one thread
   * at a time.
   */
  void write(int part) {
    if (lacks(part)) {
      if (!tried) {
        tried = true;
        movesTogether = tryTogether();
      }
      boolean done = LibC.madvise(placeOf(part), lengthOf(part, 1), LibC.ADVICE_POPULATE_READ);
      synchronized (this) {
        written.set(part, done && !refused);
      }
    }
  }

  /** Whether two parts can be moved as one after one of them has come back. */
  private boolean tryTogether() {
    if (bytes <= partBytes) {
      return true;
    }
    try (Reservation trial = Reservation.of(partBytes, partBytes)) {
      long address = trial.address();
      if (!move(address, partBytes, placeOf(0), () -> LibC.mapNothingAt(address, partBytes))) {
        return false;
      }
      return bringBack(trial.address(), 0) && moves.canMove(placeOf(0), lengthOf(0, 2));
    }
  }

  /**
   * Moves tables; false where they do not move, after what is to be done instead, and at once, as
   * what lay at the address may be gone.
   */
  private boolean move(long address, long bytes, long from, Runnable instead) {
    try {
      if (moves.moveAt(address, bytes, from)) {
        return true;
      }
      instead.run();
    } catch (StatusException e) {
      instead.run();
      refuse(e);
    }
    return false;
  }

  /**
   * Has a part lie at its place again, from addresses that show it; false where its tables do not
   * come with it.
   */
  private boolean bringBack(long address, int part) {
    return move(placeOf(part), lengthOf(part, 1), address, () -> mapAgain(address, part));
  }

  /**
   * Leaves no hole in the file's addresses, which others' memory could come to lie in. Where the
   * system is out of mappings it refuses before it unmaps anything: the part is there then.
   */
  private void mapAgain(long address, int part) {
    try {
      moves.mapSameAt(placeOf(part), lengthOf(part, 1), address);
    } catch (StatusException e) {
      try {
        if (LibC.mapNothingIfFree(placeOf(part), lengthOf(part, 1))) {
          lose(part);
        }
      } finally {
        refuse(e);
      }
    }
  }

  /** Nothing of it lies at its place; once more refused, that is no sign of it. */
  private synchronized void lose(int part) {
    lost.set(part);
  }

  /** Whether a part's tables are still to be written. */
  synchronized boolean lacks(int part) {
    return !refused && !written.get(part);
  }

  /** The system has failed to show parts: no others are from now on, so all is copied. */
  void refuse(RuntimeException reason) {
    boolean before;
    synchronized (this) {
      before = refused;
      refused = true;
      written.clear();
    }
    if (!before) {
      LOG.log(
          Level.WARNING, "a weights file is copied, as it cannot be shown where it lies", reason);
    }
  }

  /** How many parts have their tables written, from one on. */
  private synchronized int writtenFrom(int part) {
    return written.nextClearBit(part) - part;
  }

  /** The same in bytes, from an offset on that begins a part; 0 from any other. */
  long writtenBytesFrom(long offset) {
    return offset % partBytes == 0 ? writtenFrom((int) (offset / partBytes)) * partBytes : 0;
  }

  /** Whether parts that lie at an address have their tables written and are all in memory. */
  boolean isReadyAt(long address, int first, int count) {
    return count > 0
        && writtenFrom(first) >= count
        && LibC.isInMemory(address, lengthOf(first, count));
  }

  /** How many of them are all in memory; what is not has its tables written anew some time. */
  int readyFrom(int part, int limit) {
    int count = Math.min(limit, writtenFrom(part));
    if (count == 0 || LibC.isInMemory(placeOf(part), lengthOf(part, count))) {
      return count;
    }
    int ready = 0;
    while (ready < count && LibC.isInMemory(placeOf(part + ready), lengthOf(part + ready, 1))) {
      ready++;
    }
    synchronized (this) {
      written.clear(part + ready, part + count);
    }
    return ready;
  }

  /**
   * Puts parts one behind the other under reserved addresses, and zeros behind the file's end.
   *
   * @param address of whole parts
   * @throws StatusException when the system refuses; whatever lies at the addresses is to be put
   *     back then
   */
  void showAt(long address, int first, int count) {
    requireThere(first, count);
    long length = lengthOf(first, count);
    long step = movesTogether ? length : partBytes;
    for (long done = 0; done < length; done += step) {
      long next = Math.min(step, length - done);
      if (!moves.moveAt(address + done, next, placeOf(first) + done)) {
        moves.mapSameAt(address + done, next, placeOf(first) + done);
      }
    }
    if (length < count * partBytes) {
      LibC.mapMemoryAt(address + length, count * partBytes - length);
    }
  }

  /** Takes a part's tables from addresses, which show it all the same; refused, they are lost. */
  void takeBack(long address, int part) {
    boolean _ = bringBack(address, part);
  }

  /** Takes a part from under addresses, which are reserved and empty then. */
  void hideAt(long address, int part) {
    takeBack(address, part);
    LibC.mapNothingAt(address, partBytes);
  }

  /** What is in a stretch of a part, up to the file's end; reads it from disk where it must. */
  MemorySegment read(int part, long offset, long bytes) {
    requireThere(part, 1);
    long begin = part * partBytes + offset;
    long there = Math.clamp(this.bytes - begin, 0, bytes);
    if (there > 0) {
      boolean _ = LibC.madvise(addresses.address() + begin, there, LibC.ADVICE_POPULATE_READ);
    }
    return addresses.memory().asSlice(Math.min(begin, this.bytes), there);
  }

  private synchronized void requireThere(int first, int count) {
    int next = lost.nextSetBit(first);
    if (next >= 0 && next < first + count) {
      throw new StatusException(
          Status.INTERNAL,
          "the system has unmapped part %d of a weights file; unload the model and load it again"
              .formatted(next));
    }
  }

  private long placeOf(int part) {
    return addresses.address() + part * partBytes;
  }

  private long lengthOf(int part, int count) {
    return Math.min(count * partBytes, bytes - part * partBytes);
  }

  /** Only when nobody shows a part. */
  @Override
  public void close() {
    addresses.close();
  }
}
