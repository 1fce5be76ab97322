package io.pipelane.lanes.cpu;

import io.pipelane.lanes.HostRegion;
import io.pipelane.lanes.SharedLane;
import io.pipelane.lanes.allocation.BlockRegion;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * A lane's memory that worker processes map too. This process puts inputs there before a run and
 * reads outputs after it. Between, the memory is the worker's to allocate in, up to the limit that
 * it is told.
 *
 * <p>All workers map the same memory, or each one its own. With its own nobody finds what another's
 * runs have left or leave, not even while a worker that is on its way out still maps what it had.
 * The memory of the lane's last worker is given back to the system when another one has the lane,
 * unless workers have pinned it: a device would go on with the pages of before.
 */
public final class SharedRegion extends BlockRegion implements SharedLane, HostRegion {
  private final int lane;
  private final boolean isPinned;
  private final Consumer<SharedRegion> onClose;

  /** By the workers that map them; under the monitor, as are changes of the one in use. */
  private final Map<Long, Mapped> memories = new HashMap<>();

  private volatile SharedMemory memory;
  private boolean closed; // under the monitor

  /** Memory that a worker maps until it is gone. */
  private record Mapped(SharedMemory memory, BooleanSupplier isGone) {}

  /**
   * Takes addresses; memory is taken as it is touched.
   *
   * @param isPinned whether workers pin some of it
   */
  public SharedRegion(
      int lane, long maximumBytes, boolean isPinned, Consumer<SharedRegion> onClose) {
    super(maximumBytes);
    this.lane = lane;
    this.isPinned = isPinned;
    this.onClose = onClose;
    memory = allocate();
    memories.put(EVERY_WORKER, new Mapped(memory, () -> false));
  }

  @Override
  public int lane() {
    return lane;
  }

  private SharedMemory allocate() {
    return SharedMemory.allocate("pipelane-lane-" + lane, maximumBytes());
  }

  @Override
  public int descriptor() {
    return memory.descriptor();
  }

  @Override
  public MemorySegment at(long offset, long bytes) {
    return memory.segment().asSlice(offset, bytes);
  }

  @Override
  public HostRegion host() {
    return this;
  }

  /** {@inheritDoc} What workers that are gone had is given back. */
  @Override
  public synchronized OptionalInt prepareFor(long worker, BooleanSupplier isGone) {
    if (closed) {
      return OptionalInt.empty();
    }
    memories.values().removeIf(this::closedIfGone);
    return OptionalInt.of(memoryOf(worker, isGone).descriptor());
  }

  private SharedMemory memoryOf(long worker, BooleanSupplier isGone) {
    return memories.computeIfAbsent(worker, _ -> new Mapped(allocate(), isGone)).memory();
  }

  @Override
  public synchronized void handTo(long worker, BooleanSupplier isGone) {
    SharedMemory before = memory;
    SharedMemory next = memoryOf(worker, isGone);
    if (next != before) {
      memory = next;
      if (!isPinned) {
        before.discardFrom(0);
      }
      memories.values().removeIf(this::closedIfGone);
    }
  }

  /** Not what is in use: the worker that has just been given it may be gone by now. */
  private boolean closedIfGone(Mapped mapped) {
    boolean gone = mapped.memory() != memory && mapped.isGone().getAsBoolean();
    if (gone) {
      mapped.memory().close();
    }
    return gone;
  }

  @Override
  public void reached(long end) {
    allocatedElsewhere(end);
  }

  @Override
  public long address() {
    return memory.segment().address();
  }

  @Override
  protected void grow(long oldBytes, long newBytes) {
    // Memory is taken as it is touched.
  }

  @Override
  protected synchronized void shrink(long oldBytes, long newBytes) {
    memory.discardFrom(newBytes);
  }

  @Override
  protected synchronized void release() {
    closed = true;
    memories.values().forEach(mapped -> mapped.memory().close());
    memories.clear();
    onClose.accept(this);
  }
}
