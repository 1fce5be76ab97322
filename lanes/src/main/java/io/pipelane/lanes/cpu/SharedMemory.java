package io.pipelane.lanes.cpu;

import io.pipelane.config.StatusException;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;

/**
 * Memory without a file name that other processes can map too, by its descriptor. Safe for any
 * thread; dead after {@link #close}.
 */
public final class SharedMemory implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(SharedMemory.class.getName());

  private final int descriptor;
  private final MemorySegment segment;
  private boolean closed;

  private SharedMemory(int descriptor, MemorySegment segment) {
    this.descriptor = descriptor;
    this.segment = segment;
  }

  /**
   * Takes zeroed memory; the system fills it in as it is touched.
   *
   * @param name seen in the system's tables only
   * @param bytes rounded up to whole pages of the system
   * @throws io.pipelane.config.StatusException when there is none
   */
  public static SharedMemory allocate(String name, long bytes) {
    long size = LibC.wholePages(bytes);
    int descriptor = LibC.memfdCreate(name);
    try {
      LibC.ftruncate(descriptor, size);
    } catch (RuntimeException e) {
      LibC.close(descriptor);
      throw e;
    }
    return map(descriptor, size, true);
  }

  /**
   * Opens memory that another process of the same user has allocated and keeps.
   *
   * @param process its id
   * @param descriptor the memory's {@link #descriptor} there
   * @param bytes the memory's size
   * @throws io.pipelane.config.StatusException when there is no such process or memory
   */
  public static SharedMemory open(long process, int descriptor, long bytes) {
    return map(LibC.open(path(process, descriptor), true), bytes, true);
  }

  /** The same for reading alone: writing to it ends the process. */
  public static SharedMemory openReadOnly(long process, int descriptor, long bytes) {
    return map(LibC.open(path(process, descriptor), false), bytes, false);
  }

  /** The file under which one process can open a descriptor of another's. */
  public static String path(long process, int descriptor) {
    return "/proc/" + process + "/fd/" + descriptor;
  }

  private static SharedMemory map(int descriptor, long bytes, boolean writable) {
    long address = 0;
    try {
      address = LibC.mapNothing(bytes);
      if (writable) {
        LibC.mapFileAt(address, bytes, descriptor, 0, false);
      } else {
        LibC.mapReadOnlyAt(address, bytes, descriptor, 0, false);
      }
      return new SharedMemory(descriptor, MemorySegment.ofAddress(address).reinterpret(bytes));
    } catch (RuntimeException e) {
      if (address != 0) {
        LibC.munmap(address, bytes);
      }
      LibC.close(descriptor);
      throw e;
    }
  }

  /** The file descriptor, which other processes can open the memory by. */
  public int descriptor() {
    return descriptor;
  }

  /** Whether another process's descriptor is still open and of this memory. */
  public boolean isOpenIn(long process, int otherDescriptor) {
    try {
      return identity(ProcessHandle.current().pid(), descriptor)
          .equals(identity(process, otherDescriptor));
    } catch (IOException e) {
      return false; // The descriptor is closed, or its process has gone.
    }
  }

  private static Object identity(long process, int descriptor) throws IOException {
    Path file = Path.of(path(process, descriptor));
    return Objects.requireNonNull(
        Files.readAttributes(file, BasicFileAttributes.class).fileKey(), "Linux files have keys");
  }

  /** Gives memory from an offset on back to the system; it reads as zero afterwards. */
  public void discardFrom(long offset) {
    long kept = LibC.wholePages(offset);
    if (kept < segment.byteSize()) {
      LibC.madvise(segment.address() + kept, segment.byteSize() - kept, LibC.ADVICE_REMOVE);
    }
  }

  /** Whether all of some memory is of this. */
  public boolean contains(MemorySegment other) {
    long offset = other.address() - segment.address();
    return other.isNative()
        && offset >= 0
        && offset < segment.byteSize()
        && other.byteSize() <= segment.byteSize() - offset;
  }

  /** Zeroes a stretch, whose whole pages go back to the system if it takes them. */
  void clear(long offset, long bytes) {
    long begin = LibC.wholePages(offset);
    long end = (offset + bytes) & -LibC.SYSTEM_PAGE_BYTES;
    if (begin < end && discard(begin, end)) {
      segment.asSlice(offset, begin - offset).fill((byte) 0);
      segment.asSlice(end, offset + bytes - end).fill((byte) 0);
    } else {
      segment.asSlice(offset, bytes).fill((byte) 0);
    }
  }

  private boolean discard(long begin, long end) {
    try {
      return LibC.madvise(segment.address() + begin, end - begin, LibC.ADVICE_REMOVE);
    } catch (StatusException e) { // It is still ours, and can be written over.
      LOG.log(Level.WARNING, "the system takes no memory back", e);
      return false;
    }
  }

  /** All of it, in whole pages of the system. */
  public MemorySegment segment() {
    return segment;
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      LibC.munmap(segment.address(), segment.byteSize());
      LibC.close(descriptor);
    }
  }
}
