package io.pipelane.lanes.cuda.execution;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.cuda.CudaEphemeralRegion;
import io.pipelane.lanes.cuda.ExecutionSettings;
import io.pipelane.lanes.cuda.SessionDevice;
import io.pipelane.lanes.cuda.copy.StreamProgress;
import io.pipelane.lanes.cuda.driver.CudaException;
import io.pipelane.lanes.cuda.driver.CudaMark;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.execution.tensor.DeviceOutput;
import io.pipelane.lanes.cuda.execution.tensor.InputCopier;
import io.pipelane.lanes.cuda.execution.tensor.InputLayout;
import io.pipelane.lanes.cuda.execution.tensor.OutputCopier;
import io.pipelane.lanes.cuda.execution.tensor.StagingBuffer;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.StateNumber;
import io.pipelane.lanes.execution.WeightArrivals;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The resources that the sessions of one lane share: its stream, its region, and the pinned memory
 * that requests and answers pass through. Belongs to the thread that has the lane.
 */
final class CudaLane implements AutoCloseable {
  private final SessionDevice device;
  private final DeviceMemory memory;
  private final RunningStream running;
  private final EphemeralRegion region;
  private final CudaStream stream;
  private final StagingBuffer inputStaging;
  private final StagingBuffer outputStaging;
  private final InputCopier inputs;
  private final OutputCopier outputs;
  private final CudaMark begun;
  private final CudaMark computed;
  private final CudaMark done;
  private final StreamProgress progress;
  private final SegmentMarks segmentMarks;
  private final long mostLibraryBytes;
  private long beginNanos;

  CudaLane(
      SessionDevice device,
      DeviceMemory memory,
      RunningStream running,
      CudaEphemeralRegion region,
      ExecutionSettings settings) {
    this.device = device;
    this.memory = memory;
    this.running = running;
    this.mostLibraryBytes = settings.mostLibraryBytes();
    this.region = region;
    this.stream = region.stream();
    this.inputStaging = new StagingBuffer(stream.context());
    this.outputStaging = new StagingBuffer(stream.context());
    this.inputs = new InputCopier(device, stream, inputStaging);
    this.outputs = new OutputCopier(device, stream, outputStaging);
    this.begun = CudaMark.timed(stream.context());
    this.computed = CudaMark.timed(stream.context());
    this.done = CudaMark.untimed(stream.context());
    this.progress = new StreamProgress(stream);
    this.segmentMarks = new SegmentMarks(stream);
  }

  CudaStream stream() {
    return stream;
  }

  EphemeralRegion region() {
    return region;
  }

  /** What the driver counts beside the device's own memory: that of libraries for the most part. */
  long frameworkBytes() {
    return device.driverUsedBytes() - device.deviceBytes();
  }

  /**
   * What libraries have taken since an earlier {@link #frameworkBytes}, at most {@link
   * ExecutionSettings#mostLibraryBytes}: the driver counts for all processes, so the 500 MiB of an
   * import that begins meanwhile are in it. The rest is counted as what all share.
   */
  long frameworkGrowth(long earlierBytes) {
    return Math.clamp(frameworkBytes() - earlierBytes, 0, mostLibraryBytes);
  }

  /** Does something whose device memory comes from the lane, on the lane's stream. */
  <T> T use(MemoryTarget.Growth growth, Supplier<T> work) {
    stream.context().bind();
    return memory.allocatingFrom(
        new MemoryTarget.Ephemeral(region, growth),
        () -> running.on(stream, () -> leavingNothingBehind(work)));
  }

  /** What failed may have left work on the stream that uses memory about to be freed. */
  private <T> T leavingNothingBehind(Supplier<T> work) {
    try {
      return work.get();
    } catch (RuntimeException | Error e) { // A caller's memory may have run out, too.
      drain(e);
      throw e;
    }
  }

  private void drain(Throwable cause) {
    try {
      stream.synchronize();
    } catch (CudaException e) {
      cause.addSuppressed(e);
      if (CudaFailure.isSticky(e)) {
        device.giveUp();
      }
    }
  }

  /**
   * Takes memory of the lane.
   *
   * @throws StatusException which leaves {@link #use} as what it is: memory that was refused
   */
  long allocate(long bytes) {
    long address = memory.allocate(bytes);
    if (address == 0) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY, bytes + " bytes of a run do not fit its lane");
    }
    return address;
  }

  /** Gives back what {@link #allocate} took; the stream no longer uses it. */
  void free(long address) {
    memory.free(address);
  }

  /** Pinned memory that nothing uses between runs. */
  StagingBuffer inputStaging() {
    return inputStaging;
  }

  /** What a run about to begin waits for; one in a while has its segments measured. */
  WeightWaits waits(WeightArrivals weights, RunTimes times) {
    return waits(weights, times, null);
  }

  /** The same of a run whose segments keep to a pace. */
  WeightWaits waits(WeightArrivals weights, RunTimes times, @Nullable SegmentPace pace) {
    @Nullable SegmentMarks marks = times.areSegmentsDue() ? segmentMarks : null;
    return new WeightWaits(weights, stream, progress, marks, pace);
  }

  /** When segments that are enqueued on this lane's stream are to follow each other. */
  SegmentPace pace(int segments) {
    return new SegmentPace(segments, progress::reached, System::nanoTime);
  }

  /**
   * Begins a run: its inputs are on their way to a block of device memory.
   *
   * @param beforePiece called before each piece of them; ends the run by what it throws
   */
  void begin(InputLayout layout, long block, Runnable beforePiece) {
    beginNanos = System.nanoTime();
    stream.record(begun);
    inputs.enqueue(layout, block, beforePiece);
  }

  /**
   * Ends a run whose computation is enqueued: waits until its outputs are back, and its weights
   * were there, and hands the outputs over.
   *
   * @param segments how many the model has
   */
  void finish(
      List<DeviceOutput> results,
      Invocation invocation,
      WeightArrivals weights,
      WeightWaits waits,
      int segments,
      RunTimes times) {
    stream.record(computed);
    Optional<StateNumber> number = invocation.stateNumber();
    // What an earlier attempt at the step has written is void from now on.
    number.ifPresent(state -> stream.write(state.word().address(), state.number() - 1));
    outputs.enqueue(results, invocation);
    if (number.isPresent() && results.size() == invocation.outputs().size()) {
      weights.await(segments - 1); // A step whose weights have failed to come is none.
      commit(number.get());
    }
    stream.record(done);
    int passed = progress.mark();
    weights.await(segments - 1);
    long sinceBegin = System.nanoTime() - beginNanos;
    CompletionWait.await(progress, passed, done, times.shortest() - sinceBegin);
    long deviceNanos = Math.round(computed.millisSince(begun) * 1e6);
    if (waits.isUndisturbed()) {
      times.add(deviceNanos);
      waits.tellTimes(segments, computed);
    } else if (!waits.gaveWay()) {
      weights.stalled(times.stall(deviceNanos));
    }
    outputs.finish();
  }

  private void commit(StateNumber state) {
    stream.write(state.word().address(), state.number());
  }

  /** Ends a run of which some outputs were computed on the host, once those are placed. */
  void finishOnHost(Invocation invocation) {
    Optional<StateNumber> number = invocation.stateNumber();
    if (number.isPresent()) {
      commit(number.get());
      stream.synchronize();
    }
  }

  /** Copies host memory to where an output is wanted, perhaps a state on the device. */
  void copyFromHost(MemorySegment to, MemorySegment from) {
    if (!device.isState(to)) {
      to.copyFrom(from);
    } else if (from.byteSize() > 0) {
      stream.copyToDevice(to.address(), from.address(), from.byteSize());
    }
  }

  /** An input in host memory; a state on the device is copied there. */
  InputTensor onHost(InputTensor input, Arena arena) {
    MemorySegment data = arena.allocate(input.data().byteSize(), 64);
    if (!input.onDevice()) {
      data.copyFrom(input.data());
    } else if (data.byteSize() > 0) {
      stream.context().bind();
      stream.copyToHost(data.address(), input.data().address(), data.byteSize());
      stream.synchronize();
    }
    return new InputTensor(input.name(), input.type(), input.shape(), data);
  }

  @Override
  public void close() {
    inputs.close();
    inputStaging.close();
    outputStaging.close();
    begun.close();
    computed.close();
    done.close();
    progress.close();
    segmentMarks.close();
  }
}
