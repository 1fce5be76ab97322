package io.pipelane.lanes.execution;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.execution.AllocationSizes.Purpose;
import io.pipelane.runtime.DeviceAllocator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
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
   * run. What a thread without a target allocates (a thread of ONNX Runtime's own, say) is charged
   * to an account of its own, without a limit: refusing it would end the process.
   */
  private static final ThreadLocal<@Nullable Scope> CURRENT = new ThreadLocal<>();

  /** How many sessions have what they repacked at an address that a range has given them. */
  private final Map<Long, Integer> placed = new ConcurrentHashMap<>();

  private final List<EphemeralRegion> regions = new CopyOnWriteArrayList<>();
  private final AllocationSizes sizes = new AllocationSizes();
  private final PersistentMemory persistent;
  private final PersistentMemory.Account framework;
  private final MemoryTarget unassigned;

  public DeviceMemory(PersistentMemory persistent) {
    this.persistent = persistent;
    this.framework = persistent.open("framework", Long.MAX_VALUE);
    this.unassigned = new MemoryTarget.Persistent(framework);
  }

  /** Bytes that threads without a target have allocated. */
  public long frameworkBytes() {
    return framework.usedBytes();
  }

  /** How large what has been allocated was; places that a range has given are left out. */
  public AllocationSizes sizes() {
    return sizes;
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
    Scope scope = new Scope(this, target);
    CURRENT.set(scope);
    try {
      return work.get();
    } catch (RuntimeException e) {
      throw scope.refused > 0 ? new OutOfDeviceMemoryException(scope.refused, e) : e;
    } finally {
      CURRENT.set(outer);
    }
  }

  /** Whether the calling thread's work was refused memory since it began. */
  public boolean hasRefused() {
    @Nullable Scope scope = CURRENT.get();
    return scope != null && scope.refused > 0;
  }

  /** The calling thread's work begins anew: what it was refused before is not why it fails. */
  public void beginAnew() {
    @Nullable Scope scope = CURRENT.get();
    if (scope != null) {
      scope.refused = 0;
    }
  }

  @Override
  public long allocate(long bytes) {
    @Nullable Scope scope = CURRENT.get();
    if (scope == null) {
      sizes.count(Purpose.FRAMEWORK, bytes);
      return unassigned.allocate(bytes);
    }
    long address = scope.target.allocate(bytes);
    if (address == 0) {
      scope.refused = Math.max(scope.refused, bytes);
    } else if (scope.isPlace(address)) {
      placed.merge(address, 1, Integer::sum);
    } else {
      sizes.count(scope.purpose(), bytes);
    }
    return address;
  }

  @Override
  public void free(long address) {
    if (!tryFree(address)) {
      throw new IllegalArgumentException(
          "0x" + Long.toHexString(address) + " was not allocated on this device");
    }
  }

  /** Frees what was allocated here; false when the address is of somewhere else. */
  boolean tryFree(long address) {
    for (EphemeralRegion region : regions) {
      long offset = address - region.address();
      if (offset >= 0 && offset < region.maximumBytes()) {
        region.free(address);
        return true;
      }
    }
    return persistent.free(address) || leavePlace(address);
  }

  /** The memory that the calling thread works for; null when it works for none. */
  static @Nullable DeviceMemory ofThread() {
    @Nullable Scope scope = CURRENT.get();
    return scope == null ? null : scope.memory;
  }

  /** A place keeps its memory; but it matters to a session that is being built. */
  private boolean leavePlace(long address) {
    if (!placed.containsKey(address)) {
      return false;
    }
    placed.computeIfPresent(address, (place, sessions) -> sessions == 1 ? null : sessions - 1);
    @Nullable Scope scope = CURRENT.get();
    if (scope != null && scope.target instanceof MemoryTarget.Placed building) {
      building.places().freed(address);
    }
    return true;
  }

  /** The memory that one thread's allocations go to, and the largest allocation it was refused. */
  private static final class Scope {
    final DeviceMemory memory;
    final MemoryTarget target;
    long refused;

    Scope(DeviceMemory memory, MemoryTarget target) {
      this.memory = memory;
      this.target = target;
    }

    Purpose purpose() {
      return switch (target) {
        case MemoryTarget.Ephemeral _ -> Purpose.RUN;
        case MemoryTarget.Persistent _, MemoryTarget.Placed _ -> Purpose.SESSION;
      };
    }

    boolean isPlace(long address) {
      return target instanceof MemoryTarget.Placed building && building.places().isPlace(address);
    }
  }
}
