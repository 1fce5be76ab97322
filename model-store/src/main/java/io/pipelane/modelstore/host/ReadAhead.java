package io.pipelane.modelstore.host;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Has the system read a mapped file from disk ahead of whoever copies it from front to back, who
 * alone would wait for one stretch after another. One thread's.
 */
final class ReadAhead {
  /*
   * The system is asked for a window at a time (madvise): it puts all of that into the disk's queue
   * at once, so no threads are needed to keep the disk busy. The next window is asked for while half
   * of one is still to come. Nothing is copied: the page cache's pages are what the copy reads.
   *
   * Of a window that begins and ends in the page cache nothing is asked, as asking looks at each
   * page. Files of other users always count as there, since the system does not tell; they are read
   * as if nobody had asked.
   */
  private static final long WINDOW_BYTES = 64 << 20;

  /** Addresses given to the system are multiples of it; larger pages have them, too. */
  private static final long ALIGNMENT = 64 << 10;

  /** MADV_WILLNEED on Linux. */
  private static final int WILL_NEED = 3;

  private static final MethodHandle ADVISE =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().findOrThrow("madvise"),
              FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));

  private final MemorySegment mapped;
  private long askedUpTo;

  ReadAhead(MemorySegment mapped) {
    this.mapped = mapped;
  }

  /** Bytes from an offset on are about to be read, and then those behind them. */
  void before(long offset, long bytes) {
    if (offset > askedUpTo) {
      askedUpTo = offset;
    }
    while (askedUpTo < mapped.byteSize() && askedUpTo < offset + bytes + WINDOW_BYTES / 2) {
      long size = Math.min(WINDOW_BYTES, mapped.byteSize() - askedUpTo);
      MemorySegment window = mapped.asSlice(askedUpTo, size);
      if (!isThere(window, 0) || !isThere(window, size - 1)) {
        ask(window);
      }
      askedUpTo += size;
    }
  }

  private static boolean isThere(MemorySegment window, long offset) {
    return window.asSlice(offset, 1).isLoaded();
  }

  /** An answer would make no difference: what was not read ahead is read when it is touched. */
  private static void ask(MemorySegment window) {
    long begin = window.address() / ALIGNMENT * ALIGNMENT;
    long bytes = window.address() + window.byteSize() - begin;
    try {
      int _ = (int) ADVISE.invokeExact(MemorySegment.ofAddress(begin), bytes, WILL_NEED);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }
}
