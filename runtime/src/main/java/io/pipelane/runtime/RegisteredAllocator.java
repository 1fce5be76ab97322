package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;

/**
 * An {@code OrtAllocator} whose functions are upcalls into a {@link DeviceAllocator}.
 *
 * <p>An exception that left an upcall would end the process, so none does: a failed allocation
 * answers NULL, which {@link ThrowingAllocation} turns into what ONNX Runtime expects of a full
 * allocator.
 */
final class RegisteredAllocator {
  private static final System.Logger LOG = System.getLogger(RegisteredAllocator.class.getName());

  /** The last version of the structure that has only Alloc, Free and Info. */
  private static final int STRUCT_VERSION = 17;

  private final DeviceAllocator allocator;
  private final long memoryInfo;
  private final MemorySegment struct;

  RegisteredAllocator(DeviceAllocator allocator, long memoryInfo, Arena arena) {
    this.allocator = allocator;
    this.memoryInfo = memoryInfo;
    MethodHandles.Lookup lookup = MethodHandles.lookup();
    struct = arena.allocate(8 * 16, 8);
    struct.set(JAVA_INT, 0, STRUCT_VERSION);
    MemorySegment allocate = Upcall.of(lookup, this, "allocate", arena, 2);
    struct.set(ADDRESS, 8, ThrowingAllocation.of(allocate, arena));
    struct.set(ADDRESS, 16, Upcall.of(lookup, this, "free", arena, 2));
    struct.set(ADDRESS, 24, Upcall.of(lookup, this, "info", arena, 1));
  }

  long address() {
    return struct.address();
  }

  @SuppressWarnings("unused") // an upcall
  private long allocate(long self, long bytes) {
    try {
      return bytes == 0 ? nothing() : allocator.allocate(bytes);
    } catch (Throwable e) {
      LOG.log(Level.ERROR, "allocation of " + bytes + " bytes failed", e);
      return 0;
    }
  }

  /** The address of no bytes at all: NULL would mean that there is no room. */
  private long nothing() {
    return struct.address();
  }

  @SuppressWarnings("unused") // an upcall
  private long free(long self, long address) {
    try {
      if (address != 0 && address != nothing()) {
        allocator.free(address);
      }
    } catch (Throwable e) {
      LOG.log(Level.ERROR, "freeing " + Long.toHexString(address) + " failed", e);
    }
    return 0;
  }

  @SuppressWarnings("unused") // an upcall
  private long info(long self) {
    return memoryInfo;
  }
}
