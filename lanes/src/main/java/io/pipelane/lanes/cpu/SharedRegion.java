package io.pipelane.lanes.cpu;

import io.pipelane.lanes.SharedLane;
import io.pipelane.lanes.allocation.BlockRegion;
import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;

/**
 * A lane's memory that worker processes map too. This process puts inputs there before a run and
 * reads outputs after it; between, the memory is the worker's to allocate in, up to the limit that
 * it is told.
 */
public final class SharedRegion extends BlockRegion implements SharedLane {
  private final int lane;
  private final SharedMemory memory;
  private final Consumer<SharedRegion> onClose;
  private String owner = "";

  public SharedRegion(int lane, long maximumBytes, Consumer<SharedRegion> onClose) {
    super(maximumBytes);
    this.lane = lane;
    this.memory = SharedMemory.allocate("pipelane-lane-" + lane, maximumBytes);
    this.onClose = onClose;
  }

  /** Which of the device's regions it is, counted from 0. */
  public int lane() {
    return lane;
  }

  /** What a worker opens the memory by. */
  public int descriptor() {
    return memory.descriptor();
  }

  /** A part of the memory. */
  public MemorySegment at(long offset, long bytes) {
    return memory.segment().asSlice(offset, bytes);
  }

  @Override
  public SharedRegion host() {
    return this;
  }

  @Override
  public void cleanFor(String runOwner) {
    if (!owner.isEmpty() && !runOwner.equals(owner)) {
      memory.discardFrom(0);
    }
    owner = runOwner;
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
  protected void shrink(long oldBytes, long newBytes) {
    memory.discardFrom(newBytes);
  }

  @Override
  protected void release() {
    memory.close();
    onClose.accept(this);
  }
}
