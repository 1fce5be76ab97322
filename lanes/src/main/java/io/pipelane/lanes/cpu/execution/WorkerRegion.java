package io.pipelane.lanes.cpu.execution;

import io.pipelane.lanes.allocation.BlockRegion;
import io.pipelane.lanes.cpu.SharedMemory;
import java.lang.foreign.MemorySegment;

/** A lane's memory in a worker process; the other process takes and gives back what is under it. */
public final class WorkerRegion extends BlockRegion {
  private final SharedMemory memory;

  private WorkerRegion(SharedMemory memory, long maximumBytes) {
    super(maximumBytes);
    this.memory = memory;
  }

  /** A region over memory that it takes over. */
  public static WorkerRegion over(SharedMemory memory, long maximumBytes) {
    return new WorkerRegion(memory, maximumBytes);
  }

  /** A region over memory of this process's own, which is taken as it is touched. */
  public static WorkerRegion spare(long maximumBytes) {
    return over(SharedMemory.allocate("pipelane-spare", maximumBytes), maximumBytes);
  }

  /** Gives the memory back to the system that has been touched; nothing is in use. */
  public void discard() {
    memory.discardFrom(0);
  }

  /** A part of the memory. */
  public MemorySegment at(long offset, long bytes) {
    return memory.segment().asSlice(offset, bytes);
  }

  @Override
  public long address() {
    return memory.segment().address();
  }

  @Override
  protected void grow(long oldBytes, long newBytes) {
    // The limit alone counts.
  }

  @Override
  protected void shrink(long oldBytes, long newBytes) {
    // The limit alone counts.
  }

  @Override
  protected void release() {
    memory.close();
  }
}
