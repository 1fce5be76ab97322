package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.execution.Invocation;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Brings outputs back from the device: straight to where they are wanted when that is pinned, by
 * way of a pinned buffer otherwise. Belongs to its lane's thread.
 */
final class OutputCopier {
  private static final long ALIGNMENT = 64;

  private record Detour(MemorySegment from, MemorySegment to) {}

  private final CudaStream stream;
  private final StagingBuffer staging;
  private final List<Detour> detours = new ArrayList<>();

  OutputCopier(CudaStream stream, StagingBuffer staging) {
    this.stream = stream;
    this.staging = staging;
  }

  /** Asks for the outputs' places and enqueues their copies. */
  void enqueue(List<DeviceOutput> outputs, Invocation invocation) {
    detours.clear();
    MemorySegment staged =
        staging.take(outputs.stream().mapToLong(o -> aligned(o.byteSize())).sum());
    long offset = 0;
    for (DeviceOutput output : outputs) {
      long bytes = output.byteSize();
      MemorySegment place = invocation.place(output.name(), output.type(), output.shape(), bytes);
      MemorySegment target = place;
      if (!stream.context().isPinned(place)) {
        target = staged.asSlice(offset, bytes);
        detours.add(new Detour(target, place));
      }
      if (bytes > 0) {
        stream.copyToHost(target.address(), output.address(), bytes);
      }
      offset += aligned(bytes);
    }
  }

  /** Completes the outputs of the last {@link #enqueue}, once the stream has come that far. */
  void finish() {
    detours.forEach(detour -> detour.to.copyFrom(detour.from));
    detours.clear();
  }

  private static long aligned(long bytes) {
    return (bytes + ALIGNMENT - 1) & -ALIGNMENT;
  }
}
