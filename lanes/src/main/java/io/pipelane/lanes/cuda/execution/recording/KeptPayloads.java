package io.pipelane.lanes.cuda.execution.recording;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.execution.recording.RecordedSegment.HostPayload;
import io.pipelane.lanes.cuda.execution.tensor.InputLayout;
import io.pipelane.lanes.cuda.execution.tensor.StagingBuffer;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.MemoryTarget;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** The host payloads of a capture's copies, kept in persistent device memory. */
public final class KeptPayloads implements AutoCloseable {
  private final DeviceMemory memory;
  private final long address;

  private KeptPayloads(DeviceMemory memory, long address) {
    this.memory = memory;
    this.address = address;
  }

  /**
   * Copies all payloads of a capture to the device and lets its graphs read them there.
   *
   * @param constants charged with them
   * @param staging on the way
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when they do not fit
   */
  public static KeptPayloads keep(
      List<RecordedSegment> segments,
      DeviceMemory memory,
      MemoryTarget constants,
      CudaStream stream,
      StagingBuffer staging) {
    long bytes =
        segments.stream()
            .flatMap(segment -> segment.payloads().stream())
            .mapToLong(KeptPayloads::taken)
            .sum();
    if (bytes == 0) {
      return new KeptPayloads(memory, 0);
    }
    long address = constants.allocate(bytes);
    if (address == 0) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "a capture's " + bytes + " bytes of constants do not fit the device");
    }
    KeptPayloads kept = new KeptPayloads(memory, address);
    try {
      kept.fill(segments, staging.take(bytes));
      stream.copyToDevice(address, staging.take(bytes).address(), bytes);
      stream.synchronize();
      return kept;
    } catch (RuntimeException e) {
      kept.close();
      throw e;
    }
  }

  private void fill(List<RecordedSegment> segments, MemorySegment staged) {
    long offset = 0;
    for (RecordedSegment segment : segments) {
      for (HostPayload payload : segment.payloads()) {
        MemorySegment content = payload.content();
        staged.asSlice(offset, content.byteSize()).copyFrom(content);
        segment.graph().replaceSource(payload.copy(), address + offset);
        offset += taken(payload);
      }
    }
  }

  private static long taken(HostPayload payload) {
    return (payload.content().byteSize() + InputLayout.ALIGNMENT - 1) & -InputLayout.ALIGNMENT;
  }

  @Override
  public void close() {
    if (address != 0) {
      memory.free(address);
    }
  }
}
