package io.pipelane.lanes.execution;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.runtime.DeviceAllocator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The allocator that ONNX Runtime calls: sends each allocation to the memory that the calling
 * thread works for, and each free back to where its address came from.
 */
public final class DeviceMemory implements DeviceAllocator {
  /*
   * The target belongs to the thread, never to the process: one session may be built while others
   * run. What a thread without a target allocates is charged to an account of its own, so that the
   * ledger still adds up.
   */
  private static final ThreadLocal<@Nullable Scope> CURRENT = new ThreadLocal<>();

  private final List<EphemeralRegion> regions = new CopyOnWriteArrayList<>();
  private final PersistentMemory persistent;
  private final MemoryTarget unassigned;

  public DeviceMemory(PersistentMemory persistent) {
    this.persistent = persistent;
    this.unassigned = new MemoryTarget.Persistent(persistent.open("framework", Long.MAX_VALUE));
  }

  /** Makes a region's addresses known, so that they can be freed; before its first use. */
  public void add(EphemeralRegion region) {
    regions.add(region);
  }

  /**
   * Runs something on this thread, its allocations served by a target.
   *
   * @throws OutOfDeviceMemoryException when it failed and an allocation had been refused
   */
  public <T> T allocatingFrom(MemoryTarget target, Supplier<T> work) {
    @Nullable Scope outer = CURRENT.get();
    Scope scope = new Scope(target);
    CURRENT.set(scope);
    try {
      return work.get();
    } catch (RuntimeException e) {
      throw scope.refused > 0 ? new OutOfDeviceMemoryException(scope.refused, e) : e;
    } finally {
      CURRENT.set(outer);
    }
  }

  @Override
  public long allocate(long bytes) {
    @Nullable Scope scope = CURRENT.get();
    if (scope == null) {
      return unassigned.allocate(bytes);
    }
    long address = scope.target.allocate(bytes);
    if (address == 0) {
      scope.refused = Math.max(scope.refused, bytes);
    }
    return address;
  }

  @Override
  public void free(long address) {
    for (EphemeralRegion region : regions) {
      long offset = address - region.address();
      if (offset >= 0 && offset < region.maximumBytes()) {
        region.free(address);
        return;
      }
    }
    if (!persistent.free(address)) {
      throw new IllegalArgumentException(
          "0x" + Long.toHexString(address) + " was not allocated on this device");
    }
  }

  /** What one thread works for, and the largest allocation it was refused. */
  private static final class Scope {
    final MemoryTarget target;
    long refused;

    Scope(MemoryTarget target) {
      this.target = target;
    }
  }
}
