package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Device memory from the C heap: counts by the owner that the calling thread works for, and fails
 * at a chosen allocation.
 */
final class HeapDevice implements DeviceAllocator {
  private static final Linker LINKER = Linker.nativeLinker();
  private static final MethodHandle ALLOCATE =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("aligned_alloc"),
          FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG));
  private static final MethodHandle FREE =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("free"), FunctionDescriptor.ofVoid(JAVA_LONG));

  private final ThreadLocal<String> owner = ThreadLocal.withInitial(() -> "nobody");
  private final Map<Long, String> live = new ConcurrentHashMap<>();
  private final Map<String, AtomicLong> allocations = new ConcurrentHashMap<>();
  private final AtomicLong left = new AtomicLong(Long.MAX_VALUE);
  private volatile Failure failure = Failure.REFUSE;

  /** What the failing allocation does. */
  enum Failure {
    REFUSE,
    THROW
  }

  /** Lets so many allocations go well; the next one fails, and those after it go well again. */
  void failAfter(long allocations, Failure how) {
    failure = how;
    left.set(allocations);
  }

  /** Whether the allocation that was to fail has failed. */
  boolean hasFailed() {
    return left.get() < 0;
  }

  void workFor(String name) {
    owner.set(name);
  }

  /** Allocations that live, of all owners. */
  int live() {
    return live.size();
  }

  int live(String name) {
    return (int) live.values().stream().filter(name::equals).count();
  }

  /** Allocations that an owner has ever made. */
  long allocations(String name) {
    return allocations.computeIfAbsent(name, key -> new AtomicLong()).get();
  }

  @Override
  public long allocate(long bytes) {
    if (left.getAndDecrement() == 0) {
      if (failure == Failure.THROW) {
        throw new IllegalStateException("the allocator is broken");
      }
      return 0;
    }
    try {
      long address = (long) ALLOCATE.invokeExact(64L, (bytes + 63) & -64L);
      String name = owner.get();
      live.put(address, name);
      allocations.computeIfAbsent(name, key -> new AtomicLong()).incrementAndGet();
      return address;
    } catch (Throwable e) {
      throw new LinkageError("aligned_alloc", e);
    }
  }

  @Override
  public void free(long address) {
    Objects.requireNonNull(live.remove(address), "freed what was not allocated");
    try {
      FREE.invokeExact(address);
    } catch (Throwable e) {
      throw new LinkageError("free", e);
    }
  }
}
