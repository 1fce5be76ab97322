package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.cuda.driver.ExecutableGraph;
import io.pipelane.lanes.cuda.execution.recording.KeptPayloads;
import io.pipelane.lanes.cuda.execution.tensor.DeviceOutput;
import io.pipelane.lanes.cuda.execution.tensor.InputLayout;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.WeightArrivals;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A run that replays a model's segments for the shapes that they were captured with. Belongs to its
 * lane's thread.
 */
final class CapturedRun implements RunForm, AutoCloseable {
  /*
   * Every address in the graphs is one of the lane's region, counted from its beginning, or of
   * persistent memory. A replay takes all that the captured run took as one block. The block begins
   * at the same address because the region is empty.
   */
  private final CudaLane lane;
  private final List<ExecutableGraph> segments;
  private final Map<String, DeviceOutput> outputs;
  private final KeptPayloads payloads;
  private final long ephemeralBytes;
  private final SegmentPace pace;

  /**
   * Takes over graphs.
   *
   * @param ephemeralBytes what the captured run took of the lane's region
   */
  CapturedRun(
      CudaLane lane,
      List<ExecutableGraph> segments,
      Map<String, DeviceOutput> outputs,
      KeptPayloads payloads,
      long ephemeralBytes) {
    this.lane = lane;
    this.segments = List.copyOf(segments);
    this.outputs = Map.copyOf(outputs);
    this.payloads = payloads;
    this.ephemeralBytes = ephemeralBytes;
    this.pace = lane.pace(segments.size());
  }

  long ephemeralBytes() {
    return ephemeralBytes;
  }

  List<ExecutableGraph> segments() {
    return segments;
  }

  @Override
  public void run(
      Invocation invocation, MemoryTarget.Growth growth, WeightArrivals weights, RunTimes times) {
    lane.use(
        growth,
        () -> {
          replay(invocation, weights, times);
          return this;
        });
  }

  private void replay(Invocation invocation, WeightArrivals weights, RunTimes times) {
    InputLayout layout = InputLayout.of(invocation.inputs());
    long block = takeBlock();
    try {
      WeightWaits waits = lane.waits(weights, times, pace);
      lane.begin(layout, block, waits::beforePiece);
      for (int segment = 0; segment < segments.size(); segment++) {
        waits.reached(segment);
        lane.stream().launch(segments.get(segment));
      }
      List<DeviceOutput> results =
          invocation.outputs().stream().map(n -> Objects.requireNonNull(outputs.get(n))).toList();
      lane.finish(results, invocation, weights, waits, segments.size(), times);
    } finally {
      lane.free(block);
    }
  }

  /** All of the lane's memory that the graphs use; free it when the stream no longer does. */
  long takeBlock() {
    long block = lane.allocate(ephemeralBytes);
    if (block != lane.region().address()) {
      lane.free(block);
      throw new IllegalStateException("a lane is not empty at the beginning of a captured run");
    }
    return block;
  }

  /** Gives everything back; no run is under way. */
  @Override
  public void close() {
    segments.forEach(ExecutableGraph::close);
    payloads.close();
  }
}
