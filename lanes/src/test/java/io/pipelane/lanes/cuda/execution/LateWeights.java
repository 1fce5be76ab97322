package io.pipelane.lanes.cuda.execution;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.BytesSource;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.Plan;
import java.util.ArrayList;
import java.util.List;

/** Weights whose copies are enqueued only when the run asks for them, segment by segment. */
final class LateWeights implements WeightArrivals {
  private final CudaDevice device;
  private final Plan plan;
  private final BytesSource weights;
  private final AddressRange range;
  private final int failing;
  private final List<Integer> asked = new ArrayList<>();
  private final List<DeviceEvent> arrivals = new ArrayList<>();
  private long stalled = -1;

  /**
   * Weights for one run.
   *
   * @param failing the segment that never arrives; -1 for none
   */
  LateWeights(CudaDevice device, Plan plan, BytesSource weights, AddressRange range, int failing) {
    this.device = device;
    this.plan = plan;
    this.weights = weights;
    this.range = range;
    this.failing = failing;
  }

  @Override
  public void await(int segment) {
    arrivals.forEach(DeviceEvent::await);
  }

  @Override
  public List<DeviceEvent> before(int segment) {
    asked.add(segment);
    if (segment == failing) {
      throw new StatusException(Status.UNAVAILABLE, "no weights");
    }
    Plan.Segment part = plan.segments().get(segment);
    if (part.byteSize() == 0) {
      return List.of();
    }
    DeviceEvent arrival =
        device.copies().copy(weights, part.offset(), range, part.offset(), part.byteSize());
    arrivals.add(arrival);
    return List.of(arrival);
  }

  @Override
  public void stalled(long nanos) {
    stalled = nanos;
  }

  /** The segments asked for, in order. */
  List<Integer> asked() {
    return asked;
  }

  /** What the run has told; -1 when nothing. */
  long stalledNanos() {
    return stalled;
  }
}
