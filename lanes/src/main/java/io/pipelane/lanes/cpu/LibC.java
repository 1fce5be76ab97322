package io.pipelane.lanes.cpu;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.CallError;
import io.pipelane.runtime.NativeFunction;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The memory calls of Linux's C library (x86-64 and AArch64, whose constants are the same).
 *
 * <p>Every result is checked; a failed call throws a {@link StatusException} that names the call,
 * its arguments and the error: {@link Status#INSUFFICIENT_MEMORY} where memory, mappings or
 * descriptors have run out, else {@link Status#INTERNAL}.
 */
public final class LibC {
  static final long HUGE_PAGE_BYTES = 2L << 20;
  static final int ADVICE_DONTNEED = 4;
  static final int ADVICE_REMOVE = 9;
  static final int ADVICE_HUGEPAGE = 14;
  static final int ADVICE_NOHUGEPAGE = 15;
  static final int ADVICE_POPULATE_READ = 22;
  static final int ADVICE_POPULATE_WRITE = 23;
  private static final int ADVICE_COLLAPSE = 25;

  private static final int PROT_NONE = 0;
  private static final int PROT_READ = 1;
  private static final int PROT_READ_WRITE = 3;
  private static final int MAP_SHARED = 0x01;
  private static final int MAP_PRIVATE = 0x02;
  private static final int MAP_FIXED = 0x10;
  private static final int MAP_ANONYMOUS = 0x20;
  private static final int MAP_NORESERVE = 0x4000;
  private static final int MAP_POPULATE = 0x8000;
  private static final int MREMAP_MAYMOVE = 1;
  private static final int MREMAP_MAYMOVE_FIXED = 3;
  private static final int MREMAP_DONTUNMAP = 4;
  private static final int MFD_CLOEXEC = 1;
  private static final int SC_PAGESIZE = 30;
  private static final int O_RDONLY = 0;
  private static final int O_RDWR = 2;
  private static final int O_CLOEXEC = 0x80000;
  private static final int EINVAL = 22;

  /** What mincore says of eight pages that are there; other bits mean nothing. */
  private static final long ALL_THERE = 0x0101_0101_0101_0101L;

  /** How many pages of the system mincore is asked of at once: 64 MiB. */
  private static final int PAGES_ASKED = 16 << 10;

  private static final NativeFunction MEMFD_CREATE = NativeFunction.of("memfd_create");
  private static final NativeFunction FTRUNCATE = NativeFunction.of("ftruncate");
  private static final NativeFunction OPEN = NativeFunction.of("open");
  private static final NativeFunction CLOSE = NativeFunction.of("close");
  private static final NativeFunction MMAP = NativeFunction.of("mmap");
  private static final NativeFunction MREMAP = NativeFunction.of("mremap");
  private static final NativeFunction MUNMAP = NativeFunction.of("munmap");
  private static final NativeFunction MADVISE = NativeFunction.of("madvise");
  private static final NativeFunction MINCORE = NativeFunction.of("mincore");
  private static final NativeFunction ALIGNED_ALLOC = NativeFunction.of("aligned_alloc");
  private static final NativeFunction FREE = NativeFunction.of("free");
  private static final NativeFunction SYSCONF = NativeFunction.of("sysconf");

  /** What the system maps memory in, usually 4 KiB. */
  static final long SYSTEM_PAGE_BYTES = systemPageBytes();

  private static final ThreadLocal<Asked> ASKED =
      ThreadLocal.withInitial(() -> new Asked(Arena.ofAuto(), PAGES_ASKED));

  private LibC() {}

  /** Creates a file without a name that lives in memory, closed on exec; answers its descriptor. */
  static int memfdCreate(String name) {
    try (Arena arena = Arena.ofConfined()) {
      CallError error = new CallError(arena);
      int descriptor =
          (int) MEMFD_CREATE.call(error, arena.allocateFrom(name).address(), MFD_CLOEXEC, 0);
      if (descriptor < 0) {
        throw failure("memfd_create(" + name + ")", error.number());
      }
      return descriptor;
    }
  }

  static void ftruncate(int descriptor, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      CallError error = new CallError(arena);
      if ((int) FTRUNCATE.call(error, descriptor, bytes, 0) != 0) {
        throw failure("ftruncate(" + descriptor + ", " + bytes + ")", error.number());
      }
    }
  }

  /** Opens a file that exists, closed on exec; answers its descriptor. */
  public static int open(String path, boolean writable) {
    try (Arena arena = Arena.ofConfined()) {
      CallError error = new CallError(arena);
      int flags = (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC;
      int descriptor = (int) OPEN.call(error, arena.allocateFrom(path).address(), flags, 0);
      if (descriptor < 0) {
        throw failure("open(" + path + ")", error.number());
      }
      return descriptor;
    }
  }

  static void close(int descriptor) {
    try (Arena arena = Arena.ofConfined()) {
      CallError error = new CallError(arena);
      if ((int) CLOSE.call(error, descriptor, 0, 0) != 0) {
        throw failure("close(" + descriptor + ")", error.number());
      }
    }
  }

  /** Reserves addresses without memory; touching them is a fault. */
  static long mapNothing(long bytes) {
    return mmap(0, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }

  /** Puts reserved addresses back to what {@link #mapNothing} made them. */
  public static void mapNothingAt(long address, long bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    mmap(address, bytes, PROT_NONE, flags, -1, 0);
  }

  /** Reserves these addresses, unless something is mapped there; whether it has. */
  static boolean mapNothingIfFree(long address, long bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    long mapped = mmap(address, bytes, PROT_NONE, flags, -1, 0); // Elsewhere if it is not free.
    if (mapped != address) {
      munmap(mapped, bytes);
    }
    return mapped == address;
  }

  /** Maps private zeroed memory that is taken as it is touched. */
  static long mapMemory(long bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    return mmap(0, bytes, PROT_READ_WRITE, flags, -1, 0);
  }

  /** Maps private zeroed memory, taken as it is touched, over reserved addresses. */
  public static void mapMemoryAt(long address, long bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    mmap(address, bytes, PROT_READ_WRITE, flags, -1, 0);
  }

  /**
   * Maps a stretch of a file over reserved addresses, shared.
   *
   * @param populate whether to take the memory now rather than when it is touched
   */
  static void mapFileAt(long address, long bytes, int descriptor, long offset, boolean populate) {
    int flags = MAP_SHARED | MAP_FIXED | (populate ? MAP_POPULATE : 0);
    mmap(address, bytes, PROT_READ_WRITE, flags, descriptor, offset);
  }

  /**
   * Maps what a shared mapping maps over reserved addresses as well, with the same protection; each
   * of the two outlives the other.
   *
   * @param shared begins a page of the system
   */
  static void mapSameAt(long address, long bytes, long shared) {
    // With an old size of 0 the old mapping stays, page tables and all.
    int errno = mremap(shared, 0, bytes, MREMAP_MAYMOVE_FIXED, address);
    if (errno != 0) {
      throw remapFailure(shared, address, errno);
    }
  }

  /**
   * The same, but the page tables move: what was populated there is populated here, and has to be
   * populated again there. Tables of a stretch of 2 MiB that begins at a multiple of that at both
   * places move as a whole.
   *
   * @return false when this kernel cannot (Linux before 5.13); what was mapped at the address may
   *     be gone then
   */
  static boolean moveTablesAt(long address, long bytes, long shared) {
    int flags = MREMAP_MAYMOVE_FIXED | MREMAP_DONTUNMAP;
    int errno = mremap(shared, bytes, bytes, flags, address);
    if (errno != 0 && errno != EINVAL) {
      throw remapFailure(shared, address, errno);
    }
    return errno == 0;
  }

  /**
   * Whether the page tables of a stretch can be moved as one: not where it consists of several
   * mappings. Nothing that is mapped is touched by asking, but tables that are written are lost.
   */
  static boolean canMoveTables(long shared, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      CallError error = new CallError(arena);
      int flags = MREMAP_MAYMOVE | MREMAP_DONTUNMAP;
      long moved = MREMAP.call(error, shared, bytes, bytes, flags, 0, 0);
      if (moved != -1) {
        munmap(moved, bytes);
      }
      return moved != -1;
    }
  }

  private static StatusException remapFailure(long from, long to, int errno) {
    return failure("mremap(%s to %s)".formatted(hex(from), hex(to)), errno);
  }

  private static int mremap(long from, long oldBytes, long newBytes, int flags, long address) {
    try (Arena arena = Arena.ofConfined()) {
      CallError error = new CallError(arena);
      long mapped = MREMAP.call(error, from, oldBytes, newBytes, flags, address, 0);
      return mapped == -1 ? error.number() : 0;
    }
  }

  /** The same for reading only, populated. */
  public static void mapReadOnlyAt(
      long address, long bytes, int descriptor, long offset, boolean populate) {
    int flags = MAP_SHARED | MAP_FIXED | (populate ? MAP_POPULATE : 0);
    mmap(address, bytes, PROT_READ, flags, descriptor, offset);
  }

  static void munmap(long address, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      CallError error = new CallError(arena);
      if ((int) MUNMAP.call(error, address, bytes, 0) != 0) {
        throw failure("munmap(" + hex(address) + ", " + bytes + ")", error.number());
      }
    }
  }

  /**
   * Advises the kernel on a stretch of addresses.
   *
   * @return false when this kernel does not know the advice
   */
  static boolean madvise(long address, long bytes, int advice) {
    try (Arena arena = Arena.ofConfined()) {
      CallError error = new CallError(arena);
      if ((int) MADVISE.call(error, address, bytes, advice) == 0) {
        return true;
      }
      if (error.number() == EINVAL) {
        return false;
      }
      throw failure("madvise(" + hex(address) + ", " + bytes + ", " + advice + ")", error.number());
    }
  }

  /**
   * Asks the kernel to make huge pages of memory that has been touched, whatever the machine's
   * settings for huge pages say.
   *
   * @return false when some of it stays as it was: the kernel cannot (before Linux 6.1), there is
   *     no huge page to be had, or the addresses are no whole ones
   */
  static boolean collapse(long address, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      CallError error = new CallError(arena);
      return (int) MADVISE.call(error, address, bytes, ADVICE_COLLAPSE) == 0;
    }
  }

  /** Whether all of a mapped file's stretch, in whole pages, is in memory. */
  static boolean isInMemory(long address, long bytes) {
    if (!Thread.currentThread().isVirtual()) {
      return isInMemory(address, bytes, ASKED.get());
    }
    try (Arena arena = Arena.ofConfined()) { // Such a thread asks once.
      long pages = wholePages(bytes) / SYSTEM_PAGE_BYTES;
      return isInMemory(address, bytes, new Asked(arena, Math.min(pages, PAGES_ASKED)));
    }
  }

  private static boolean isInMemory(long address, long bytes, Asked asked) {
    long step = asked.there.byteSize() * SYSTEM_PAGE_BYTES;
    for (long done = 0; done < bytes; done += step) {
      if (!areAllThere(address + done, Math.min(step, bytes - done), asked)) {
        return false;
      }
    }
    return true;
  }

  private static boolean areAllThere(long address, long bytes, Asked asked) {
    if ((int) MINCORE.call(asked.error, address, bytes, asked.there.address()) != 0) {
      throw failure("mincore(" + hex(address) + ", " + bytes + ")", asked.error.number());
    }
    long pages = wholePages(bytes) / SYSTEM_PAGE_BYTES;
    asked.there.asSlice(pages, -pages & 7).fill((byte) 1);
    for (long page = 0; page < pages; page += 8) { // A byte is one page.
      if ((asked.there.get(JAVA_LONG, page) & ALL_THERE) != ALL_THERE) {
        return false;
      }
    }
    return true;
  }

  /**
   * Where a thread's calls of mincore write. To make it anew takes half as long as the call while
   * that is seldom made, and so not compiled.
   */
  private record Asked(CallError error, MemorySegment there) {
    Asked(Arena arena, long pages) {
      this(new CallError(arena), arena.allocate((pages + 7) & -8, Long.BYTES));
    }
  }

  /** Allocates from the C heap; {@code bytes} is a multiple of {@code alignment}. */
  static long alignedAlloc(long alignment, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      CallError error = new CallError(arena);
      long address = ALIGNED_ALLOC.call(error, alignment, bytes, 0);
      if (address == 0) {
        throw failure("aligned_alloc(" + alignment + ", " + bytes + ")", error.number());
      }
      return address;
    }
  }

  static void free(long address) {
    FREE.call(address, 0, 0);
  }

  private static long mmap(
      long address, long bytes, int protection, int flags, int descriptor, long offset) {
    try (Arena arena = Arena.ofConfined()) {
      CallError error = new CallError(arena);
      long mapped = MMAP.call(error, address, bytes, protection, flags, descriptor, offset);
      if (mapped == -1) {
        String call =
            "mmap(%s, %d, %d, 0x%x, %d, %d)"
                .formatted(hex(address), bytes, protection, flags, descriptor, offset);
        throw failure(call, error.number());
      }
      return mapped;
    }
  }

  /** Rounds up to whole pages of the system. */
  static long wholePages(long bytes) {
    return Math.addExact(bytes, SYSTEM_PAGE_BYTES - 1) & -SYSTEM_PAGE_BYTES;
  }

  private static long systemPageBytes() {
    try (Arena arena = Arena.ofConfined()) {
      CallError error = new CallError(arena);
      long bytes = SYSCONF.call(error, SC_PAGESIZE, 0, 0);
      if (bytes <= 0) {
        throw failure("sysconf(_SC_PAGESIZE)", error.number());
      }
      return bytes;
    }
  }

  private static StatusException failure(String call, int errno) {
    String name =
        switch (errno) {
          case 1 -> "EPERM";
          case 9 -> "EBADF";
          case 11 -> "EAGAIN";
          case 12 ->
              "ENOMEM (no memory left, more mappings than vm.max_map_count, or more addresses than ulimit -v)";
          case 13 -> "EACCES";
          case EINVAL -> "EINVAL";
          case 23 -> "ENFILE (the system's file descriptors are used up)";
          case 24 -> "EMFILE (the process's file descriptors are used up; see ulimit -n)";
          case 27 -> "EFBIG";
          case 28 -> "ENOSPC";
          case 38 -> "ENOSYS (the kernel is too old)";
          default -> "errno " + errno;
        };
    Status status =
        switch (errno) {
          case 11, 12, 23, 24, 28 -> Status.INSUFFICIENT_MEMORY;
          default -> Status.INTERNAL;
        };
    return new StatusException(status, call + " failed: " + name);
  }

  private static String hex(long address) {
    return "0x" + Long.toHexString(address);
  }
}
