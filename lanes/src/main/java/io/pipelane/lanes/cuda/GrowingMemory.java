package io.pipelane.lanes.cuda;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cuda.driver.CudaException;
import io.pipelane.lanes.cuda.driver.VirtualMemory;
import java.util.Arrays;

/**
 * A fixed range of device addresses with memory from its beginning up to a size that changes, in
 * granules. Belongs to one thread at a time.
 */
public final class GrowingMemory implements AutoCloseable {
  private final VirtualMemory memory;
  private final long granuleBytes;
  private final long reservedBytes;
  private final long address;
  private long[] handles = new long[16];
  private volatile int granules;

  /** Reserves addresses for {@code maximumBytes}, without memory. */
  public GrowingMemory(VirtualMemory memory, long maximumBytes) {
    this.memory = memory;
    this.granuleBytes = memory.granularity();
    this.reservedBytes = roundedUp(maximumBytes);
    this.address = memory.reserve(reservedBytes, granuleBytes);
  }

  long address() {
    return address;
  }

  /** What it may grow to. */
  long maximumBytes() {
    return reservedBytes;
  }

  /** What so many bytes take. */
  long roundedUp(long bytes) {
    return Math.ceilDiv(bytes, granuleBytes) * granuleBytes;
  }

  /** What the device gives for it at present; for any thread. */
  long byteSize() {
    return granules * granuleBytes;
  }

  /**
   * Gives memory to the first so many bytes, rounded up to granules, and none to the others. Memory
   * that stays keeps its content.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when the device has none left;
   *     nothing has changed then
   */
  void resize(long bytes) {
    int wanted = Math.toIntExact(Math.ceilDiv(bytes, granuleBytes));
    if (wanted > granules) {
      grow(wanted);
    } else if (wanted < granules) {
      drop(wanted, granules);
      granules = wanted;
    }
  }

  private void grow(int wanted) {
    if (handles.length < wanted) {
      handles = Arrays.copyOf(handles, Math.max(wanted, handles.length * 2));
    }
    int mapped = granules;
    long created = 0;
    try {
      while (mapped < wanted) {
        created = memory.create(granuleBytes);
        memory.map(addressOf(mapped), granuleBytes, created);
        handles[mapped++] = created;
        created = 0;
      }
      memory.allowAccess(addressOf(granules), (wanted - granules) * granuleBytes);
    } catch (CudaException e) {
      if (created != 0) {
        memory.release(created);
      }
      drop(granules, mapped);
      throw e.isOutOfMemory() ? noMemory(wanted - granules, e) : e;
    }
    granules = wanted;
  }

  private void drop(int first, int end) {
    if (first < end) {
      memory.unmap(addressOf(first), (end - first) * granuleBytes);
    }
    for (int i = first; i < end; i++) {
      memory.release(handles[i]);
    }
  }

  private StatusException noMemory(int more, CudaException cause) {
    return new StatusException(
        Status.INSUFFICIENT_MEMORY,
        "the device has no %s left beside the %s there are; lower what is configured for it"
            .formatted(new ByteSize(more * granuleBytes), new ByteSize(byteSize())),
        cause);
  }

  private long addressOf(int granule) {
    return address + granule * granuleBytes;
  }

  /** Gives the memory and the addresses back. */
  @Override
  public void close() {
    resize(0);
    memory.free(address, reservedBytes);
  }
}
