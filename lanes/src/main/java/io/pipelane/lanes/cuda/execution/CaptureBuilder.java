package io.pipelane.lanes.cuda.execution;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.ExecutableGraph;
import io.pipelane.lanes.cuda.execution.recording.KeptPayloads;
import io.pipelane.lanes.cuda.execution.recording.RecordedSegment;
import io.pipelane.lanes.cuda.execution.recording.SegmentRecorder;
import io.pipelane.lanes.cuda.execution.recording.SegmentTimer;
import io.pipelane.lanes.cuda.execution.tensor.DeviceOutput;
import io.pipelane.lanes.cuda.execution.tensor.InputLayout;
import io.pipelane.lanes.cuda.execution.tensor.InputShapes;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.runtime.OrtTensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The builder of captures of one session's runs. The weights are all there; whatever fails leaves
 * the session as it was. Belongs to its lane's thread.
 */
final class CaptureBuilder {
  private final CudaLane lane;
  private final SessionBinding session;
  private final DeviceMemory memory;
  private final MemoryTarget constants;
  private final List<String> outputs;
  private final int segments;

  /**
   * A builder for a session.
   *
   * @param constants charged with what a capture reads beside the weights
   * @param outputs all that the model has
   */
  CaptureBuilder(
      CudaLane lane,
      SessionBinding session,
      DeviceMemory memory,
      MemoryTarget constants,
      List<String> outputs,
      int segments) {
    this.lane = lane;
    this.session = session;
    this.memory = memory;
    this.constants = constants;
    this.outputs = outputs;
    this.segments = segments;
  }

  /**
   * Captures a run of a session that has run with the same shapes before: libraries choose their
   * algorithms, and load them, when they meet a shape.
   *
   * @throws StatusException when such a run cannot be captured
   */
  CapturedRun capture(List<InputTensor> inputs, MemoryTarget.Growth growth) {
    return lane.use(growth, () -> captureInLane(inputs));
  }

  private CapturedRun captureInLane(List<InputTensor> inputs) {
    if (lane.region().usedBytes() != 0) {
      throw new IllegalStateException("a lane is not empty at the beginning of a capture");
    }
    lane.region().resetPeak();
    InputLayout layout = InputLayout.of(inputs);
    long block = lane.allocate(layout.byteSize());
    try {
      CapturedRun run = record(layout, block);
      try {
        runOnce(layout, block);
        return run;
      } catch (RuntimeException e) {
        run.close();
        throw e;
      }
    } finally {
      lane.free(block);
    }
  }

  private CapturedRun record(InputLayout layout, long block) {
    List<OrtTensor> results = List.of();
    try (SegmentRecorder recorder = new SegmentRecorder(lane.stream(), segments)) {
      recorder.begin();
      results = session.enqueue(layout, block, outputs, recorder);
      CapturedRun run = replayable(recorder.end(), addressesOf(results));
      results.forEach(OrtTensor::close);
      session.release();
      return run;
    } catch (RuntimeException e) {
      results.forEach(OrtTensor::close);
      session.reset();
      tryRunOnce(layout, block, e);
      throw e;
    }
  }

  private void tryRunOnce(InputLayout layout, long block, RuntimeException reason) {
    try {
      runOnce(layout, block);
    } catch (RuntimeException e) {
      reason.addSuppressed(e);
    }
  }

  /**
   * Lets ONNX Runtime give back what it keeps on the host for a run that was only enqueued. Left to
   * the end of the session, that would be done by a callback which outlives the allocator it needs,
   * and ends the process.
   */
  private void runOnce(InputLayout layout, long block) {
    lane.begin(layout, block, () -> {});
    session
        .run(List.of(), layout, block, outputs, bound -> bound.run(gate -> {}))
        .forEach(OrtTensor::close);
    session.release();
  }

  private Map<String, DeviceOutput> addressesOf(List<OrtTensor> results) {
    Map<String, DeviceOutput> addresses = new LinkedHashMap<>();
    for (int i = 0; i < results.size(); i++) {
      if (results.get(i).isOnHost()) {
        throw new StatusException(
            Status.UNIMPLEMENTED, "output \"" + outputs.get(i) + "\" is computed on the host");
      }
      addresses.put(outputs.get(i), DeviceOutput.of(outputs.get(i), results.get(i)));
    }
    return addresses;
  }

  private CapturedRun replayable(
      List<RecordedSegment> recorded, Map<String, DeviceOutput> addresses) {
    CudaStream stream = lane.stream();
    KeptPayloads payloads =
        KeptPayloads.keep(recorded, memory, constants, stream, lane.inputStaging());
    List<ExecutableGraph> graphs = new ArrayList<>(recorded.size());
    try {
      recorded.forEach(segment -> graphs.add(segment.graph().instantiate()));
      return new CapturedRun(lane, graphs, addresses, payloads, lane.region().peakBytes());
    } catch (RuntimeException e) {
      graphs.forEach(ExecutableGraph::close);
      payloads.close();
      throw e;
    }
  }

  /** Measures a capture's segments, right after a run whose inputs are still in the lane. */
  Capture measure(
      InputShapes shapes, CapturedRun run, long deviceBytes, MemoryTarget.Growth growth) {
    return lane.use(
        growth,
        () -> {
          long block = run.takeBlock();
          try {
            return new Capture(
                shapes,
                SegmentTimer.measure(lane.stream(), run.segments()),
                run.ephemeralBytes(),
                deviceBytes);
          } finally {
            lane.free(block);
          }
        });
  }
}
