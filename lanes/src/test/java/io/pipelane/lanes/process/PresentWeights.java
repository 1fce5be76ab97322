package io.pipelane.lanes.process;

import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.execution.WeightArrivals;
import java.util.List;

/** Weights that are there. */
interface PresentWeights extends WeightArrivals {
  @Override
  default void await(int segment) {
    PRESENT.await(segment);
  }

  @Override
  default List<DeviceEvent> before(int segment) {
    return PRESENT.before(segment);
  }

  @Override
  default void stalled(long nanos) {
    PRESENT.stalled(nanos);
  }
}
