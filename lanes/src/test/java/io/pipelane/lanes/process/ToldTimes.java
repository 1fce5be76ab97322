package io.pipelane.lanes.process;

import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.execution.WeightArrivals;
import java.util.ArrayList;
import java.util.List;

/** Weights that are there, and the times that runs have told of their segments. */
final class ToldTimes implements WeightArrivals {
  final List<long[]> runs = new ArrayList<>();

  @Override
  public void await(int segment) {
    PRESENT.await(segment);
  }

  @Override
  public List<DeviceEvent> before(int segment) {
    return PRESENT.before(segment);
  }

  @Override
  public void stalled(long nanos) {
    PRESENT.stalled(nanos);
  }

  @Override
  public void computed(long[] segmentNanos) {
    runs.add(segmentNanos);
  }
}
