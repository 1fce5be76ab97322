package io.pipelane.lanes.cuda.execution.tensor;

import io.pipelane.lanes.cuda.SessionDevice;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.execution.Invocation;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The copier of outputs to where they are wanted: straight there when that is pinned or a state on
 * the device, otherwise by way of a pinned buffer. Belongs to its lane's thread.
 */
public final class OutputCopier {
  private static final long ALIGNMENT = 64;

  private record Detour(MemorySegment from, MemorySegment to) {}

  private final SessionDevice device;
  private final CudaStream stream;
  private final StagingBuffer staging;
  private final List<Detour> detours = new ArrayList<>();

  public OutputCopier(SessionDevice device, CudaStream stream, StagingBuffer staging) {
    this.device = device;
    this.stream = stream;
    this.staging = staging;
  }

  /** Asks for the outputs' places and enqueues their copies. */
  public void enqueue(List<DeviceOutput> outputs, Invocation invocation) {
    detours.clear();
    List<MemorySegment> places = new ArrayList<>(outputs.size());
    long stagedBytes = 0;
    for (DeviceOutput output : outputs) {
      MemorySegment place =
          invocation.place(output.name(), output.type(), output.shape(), output.byteSize());
      places.add(place);
      stagedBytes += isStaged(place) ? aligned(output.byteSize()) : 0;
    }
    MemorySegment staged = staging.take(stagedBytes);
    long offset = 0;
    for (int i = 0; i < places.size(); i++) {
      MemorySegment place = places.get(i);
      DeviceOutput output = outputs.get(i);
      if (isStaged(place)) {
        MemorySegment detour = staged.asSlice(offset, output.byteSize());
        detours.add(new Detour(detour, place));
        enqueue(output, detour);
        offset += aligned(output.byteSize());
      } else {
        enqueue(output, place);
      }
    }
  }

  private boolean isStaged(MemorySegment place) {
    return !device.isState(place) && !stream.context().isPinned(place);
  }

  private void enqueue(DeviceOutput output, MemorySegment to) {
    if (output.byteSize() == 0) {
      return;
    }
    if (device.isState(to)) {
      stream.copyWithin(to.address(), output.address(), output.byteSize());
    } else {
      stream.copyToHost(to.address(), output.address(), output.byteSize());
    }
  }

  /** Completes the outputs of the last {@link #enqueue}, once the stream has come that far. */
  public void finish() {
    detours.forEach(detour -> detour.to.copyFrom(detour.from));
    detours.clear();
  }

  private static long aligned(long bytes) {
    return (bytes + ALIGNMENT - 1) & -ALIGNMENT;
  }
}
