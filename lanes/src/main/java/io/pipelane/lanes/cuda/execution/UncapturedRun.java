package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.cuda.execution.tensor.DeviceOutput;
import io.pipelane.lanes.cuda.execution.tensor.InputLayout;
import io.pipelane.lanes.execution.EndableRun;
import io.pipelane.lanes.execution.EndlessRuns;
import io.pipelane.lanes.execution.HostOutput;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.runtime.OrtTensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A run of a session for any shapes: ONNX Runtime launches kernel by kernel, and gates make the
 * stream wait. Belongs to its lane's thread.
 */
final class UncapturedRun implements RunForm {
  private final CudaLane lane;
  private final SessionBinding session;
  private final int segments;
  private final @Nullable EndlessRuns endless;

  /**
   * Runs a session in its lane.
   *
   * @param endless ends runs of a graph with loops that take too long; null where none does
   */
  UncapturedRun(
      CudaLane lane, SessionBinding session, int segments, @Nullable EndlessRuns endless) {
    this.endless = endless;
    this.lane = lane;
    this.session = session;
    this.segments = segments;
  }

  @Override
  public void run(
      Invocation invocation, MemoryTarget.Growth growth, WeightArrivals weights, RunTimes times) {
    lane.use(
        growth,
        () -> {
          try (Arena arena = Arena.ofConfined()) {
            runInLane(invocation, weights, times, arena);
          }
          return this;
        });
  }

  private void runInLane(
      Invocation invocation, WeightArrivals weights, RunTimes times, Arena arena) {
    List<InputTensor> hostInputs =
        invocation.inputs().stream()
            .filter(session::isOnHost)
            .map(input -> input.onDevice() ? lane.onHost(input, arena) : input)
            .toList();
    InputLayout layout =
        InputLayout.of(invocation.inputs().stream().filter(i -> !session.isOnHost(i)).toList());
    WeightWaits waits = lane.waits(weights, times);
    long block = lane.allocate(layout.byteSize());
    List<OrtTensor> results = List.of();
    boolean succeeded = false;
    try {
      lane.begin(layout, block, waits::beforePiece);
      LaunchClock gates = new LaunchClock(waits);
      gates.reached(0);
      List<String> outputs = invocation.outputs();
      results =
          session.run(
              hostInputs,
              layout,
              block,
              outputs,
              bound -> EndableRun.compute(bound, gates, weights, endless));
      List<DeviceOutput> onDevice = onDevice(results, outputs);
      lane.finish(onDevice, invocation, weights, waits, segments, times);
      if (onDevice.size() < results.size()) {
        placeThoseOnHost(results, invocation);
        lane.finishOnHost(invocation);
      }
      succeeded = true;
    } finally {
      results.forEach(OrtTensor::close);
      if (succeeded) {
        session.release();
      } else {
        session.reset();
      }
      lane.free(block);
    }
  }

  private static List<DeviceOutput> onDevice(List<OrtTensor> results, List<String> names) {
    List<DeviceOutput> outputs = new ArrayList<>(results.size());
    for (int i = 0; i < results.size(); i++) {
      if (!results.get(i).isOnHost()) {
        outputs.add(DeviceOutput.of(names.get(i), results.get(i)));
      }
    }
    return outputs;
  }

  private void placeThoseOnHost(List<OrtTensor> results, Invocation invocation) {
    for (int i = 0; i < results.size(); i++) {
      OrtTensor result = results.get(i);
      if (result.isOnHost()) {
        HostOutput.place(invocation.outputs().get(i), result, invocation, lane::copyFromHost);
      }
    }
  }
}
