package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.execution.Invocation;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Brings outputs back from the device. Belongs to its lane's thread. */
final class OutputCopier {
  private static final long ALIGNMENT = 64;

  private final CudaStream stream;
  private final StagingBuffer staging;
  private MemorySegment staged = MemorySegment.NULL;

  OutputCopier(CudaStream stream, StagingBuffer staging) {
    this.stream = stream;
    this.staging = staging;
  }

  /** Enqueues the copies of outputs. */
  void enqueue(List<DeviceOutput> outputs) {
    staged = staging.take(outputs.stream().mapToLong(o -> aligned(o.byteSize())).sum());
    long offset = 0;
    for (DeviceOutput output : outputs) {
      if (output.byteSize() > 0) {
        stream.copyToHost(staged.address() + offset, output.address(), output.byteSize());
      }
      offset += aligned(output.byteSize());
    }
  }

  /** Hands over the outputs of the last {@link #enqueue}, once the stream has come that far. */
  void place(List<DeviceOutput> outputs, Invocation invocation) {
    long offset = 0;
    for (DeviceOutput output : outputs) {
      invocation
          .place(output.name(), output.type(), output.shape(), output.byteSize())
          .copyFrom(staged.asSlice(offset, output.byteSize()));
      offset += aligned(output.byteSize());
    }
  }

  private static long aligned(long bytes) {
    return (bytes + ALIGNMENT - 1) & -ALIGNMENT;
  }
}
