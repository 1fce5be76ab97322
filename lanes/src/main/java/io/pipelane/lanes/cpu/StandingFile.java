package io.pipelane.lanes.cpu;

import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/**
 * A file that is mapped for good where nobody reads it, with its page tables. Those move under the
 * addresses that are to show a part of it, and back. Safe for any thread.
 */
final class StandingFile implements AutoCloseable {
  /*
   * To move a file's page tables takes some microseconds, whatever its size. To have the kernel
   * write them as memory is touched takes as long as copying the file. They are written once, by
   * the copy thread, when it has nothing to copy.
   *
   * Nothing but speed depends on where the tables are: a part that is shown twice, or that the
   * system has dropped, is faulted in as it is touched. The mapping keeps the file, whatever
   * becomes of the one that it was made of.
   */
  private final MemorySegment.Scope scope;
  private final Reservation addresses;
  private final long partBytes;
  private final long bytes;
  private final BitSet written = new BitSet();
  private int users;

  /**
   * Maps a file a second time.
   *
   * @param file mapped from its beginning, in full
   * @param partBytes what is moved at once, a power of two
   */
  StandingFile(MemorySegment file, long partBytes) {
    this.scope = file.scope();
    this.partBytes = partBytes;
    this.bytes = LibC.wholePages(file.byteSize());
    this.addresses = Reservation.of(bytes, Math.max(partBytes, LibC.HUGE_PAGE_BYTES));
    try {
      LibC.mapSameAt(addresses.address(), bytes, file.address());
    } catch (RuntimeException e) {
      addresses.close();
      throw e;
    }
  }

  /** Whether the mapping that this was made of is gone, and nobody shows a part of it. */
  synchronized boolean isLeft() {
    return users == 0 && !scope.isAlive();
  }

  /** Counts somebody who shows a part. */
  synchronized void use() {
    users++;
  }

  synchronized void leave() {
    users--;
  }

  /** Writes a part's tables, unless that has been done; reads what is not in memory. */
  void write(int part) {
    if (!isWritten(part)) {
      boolean done = LibC.madvise(placeOf(part), lengthOf(part, 1), LibC.ADVICE_POPULATE_READ);
      synchronized (this) {
        written.set(part, done);
      }
    }
  }

  synchronized boolean isWritten(int part) {
    return written.get(part);
  }

  /** How many parts have their tables written, from one on. */
  private synchronized int writtenFrom(int part) {
    return written.nextClearBit(part) - part;
  }

  /** The same in bytes, from an offset on that begins a part; 0 from any other. */
  long writtenBytesFrom(long offset) {
    return offset % partBytes == 0 ? writtenFrom((int) (offset / partBytes)) * partBytes : 0;
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
   */
  void showAt(long address, int first, int count) {
    long length = lengthOf(first, count);
    if (!LibC.moveTablesAt(address, length, placeOf(first))) {
      LibC.mapSameAt(address, length, placeOf(first));
    }
    if (length < count * partBytes) {
      LibC.mapMemoryAt(address + length, count * partBytes - length);
    }
  }

  /** Takes a part's tables from addresses, which show it all the same. */
  void takeBack(long address, int part) {
    boolean _ = LibC.moveTablesAt(placeOf(part), lengthOf(part, 1), address);
  }

  /** Takes a part from under addresses, which are reserved and empty then. */
  void hideAt(long address, int part) {
    takeBack(address, part);
    LibC.mapNothingAt(address, partBytes);
  }

  /** What is in a part, up to the file's end. */
  MemorySegment content(int part) {
    long begin = part * partBytes;
    return addresses.memory().asSlice(begin, lengthOf(part, 1));
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
