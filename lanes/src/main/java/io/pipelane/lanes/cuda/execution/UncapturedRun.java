package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.execution.HostOutput;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.runtime.OrtTensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;

/**
 * A run of a session for any shapes: ONNX Runtime launches kernel by kernel, and gates make the
 * stream wait. Belongs to its lane's thread.
 */
final class UncapturedRun implements RunForm {
  private final CudaLane lane;
  private final SessionBinding session;
  private final int segments;

  UncapturedRun(CudaLane lane, SessionBinding session, int segments) {
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
      waits.reached(0);
      results = session.run(hostInputs, layout, block, invocation.outputs(), waits);
      List<DeviceOutput> onDevice = onDevice(results, invocation.outputs());
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
