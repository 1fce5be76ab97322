package io.pipelane.lanes;

import io.pipelane.config.StatusException;
import java.lang.foreign.MemorySegment;

/**
 * A lane's memory for one iteration at a time: activations, scratch, inputs and outputs. Allocation
 * belongs to the lane's thread; freeing is safe from any thread.
 *
 * <p>The region never takes more than its limit, which is its lane's size.
 */
public interface EphemeralRegion extends AutoCloseable {
  /** Every allocation begins at a multiple of this, and takes a multiple of it. */
  long ALIGNMENT = 256;

  /** What an allocation of so many bytes takes. */
  static long align(long bytes) {
    return Math.addExact(bytes, ALIGNMENT - 1) & -ALIGNMENT;
  }

  /** First address of the fixed range; allocations lie in {@code [address, address + maximum)}. */
  long address();

  /** Size of the fixed range, which the limit never goes beyond. */
  long maximumBytes();

  /** Whether all of some memory lies in the fixed range. */
  default boolean contains(MemorySegment memory) {
    long offset = memory.address() - address();
    return offset >= 0 && offset < maximumBytes() && memory.byteSize() <= maximumBytes() - offset;
  }

  /** What the region may take at present. */
  long limitBytes();

  /**
   * Raises or lowers what the region may take: allocations end at or below it. Lowering below the
   * end of the highest allocation is refused; memory beyond the new limit goes back to the system.
   *
   * @throws IllegalArgumentException beyond the maximum, or below the end of what is in use
   * @throws StatusException when the device has no memory for more; nothing has changed then
   */
  void limit(long bytes);

  /**
   * Allocates, aligned to {@link #ALIGNMENT}. The same sequence of calls on a new region gives
   * addresses at the same distance from its beginning.
   *
   * @return an address, or 0 when the limit leaves no room
   */
  long allocate(long bytes);

  /**
   * Frees what {@link #allocate} returned.
   *
   * @throws IllegalArgumentException when the address is not allocated here
   */
  void free(long address);

  /** What allocations take at present. */
  long usedBytes();

  /**
   * The highest end of an allocation since {@link #resetPeak}, counted from the region's beginning;
   * allocations that were alive then count too.
   */
  long peakBytes();

  /** Has {@link #peakBytes} count from now on. */
  void resetPeak();

  @Override
  void close();
}
