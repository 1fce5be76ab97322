package io.pipelane.bench.switching;

import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaMark;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.VirtualMemory;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.MemorySource;
import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.Grouping.Group;
import java.util.ArrayList;
import java.util.List;

/**
 * Weights in device memory that is allocated for each run and freed after it, always at the same
 * addresses; they come in groups. Used by one thread.
 */
final class AllocatedWeights implements WeightArrivals, AutoCloseable {
  private final VirtualMemory memory;
  private final MemorySource weights;
  private final Plan plan;
  private final List<Group> groups;
  private final CudaStream lane;
  private final CudaStream copies;
  private final List<CudaMark> arrived = new ArrayList<>();
  private final long bytes;
  private final long address;
  private long handle;
  private int awaited;

  AllocatedWeights(
      CudaContext context, MemorySource weights, Plan plan, List<Group> groups, CudaStream lane) {
    memory = new VirtualMemory(context);
    this.weights = weights;
    this.plan = plan;
    this.groups = groups;
    this.lane = lane;
    copies = CudaStream.open(context);
    groups.forEach(_ -> arrived.add(CudaMark.untimed(context)));
    bytes = Math.ceilDiv(weights.byteSize(), memory.granularity()) * memory.granularity();
    address = memory.reserve(bytes, 0);
  }

  long address() {
    return address;
  }

  /** Allocates, and sends for every group. */
  void take() {
    handle = memory.create(bytes);
    memory.map(address, bytes, handle);
    memory.allowAccess(address, bytes);
    awaited = 0;
    for (int i = 0; i < groups.size(); i++) {
      Group group = groups.get(i);
      long from = weights.bytes().address() + group.offset();
      copies.copyToDevice(address + group.offset(), from, group.byteSize());
      copies.record(arrived.get(i));
    }
  }

  /** Frees; no work that reads the weights is under way. */
  void giveBack() {
    copies.synchronize();
    memory.unmap(address, bytes);
    memory.release(handle);
  }

  @Override
  public void await(int segment) {
    copies.synchronize();
  }

  @Override
  public List<DeviceEvent> before(int segment) {
    long end = segment < plan.segments().size() ? plan.segments().get(segment).end() : 0;
    while (awaited < groups.size() && groups.get(awaited).offset() < end) {
      lane.waitFor(arrived.get(awaited));
      awaited++;
    }
    return List.of();
  }

  @Override
  public void stalled(long nanos) {
    // The whole run is timed.
  }

  @Override
  public void close() {
    arrived.forEach(CudaMark::close);
    copies.close();
    memory.free(address, bytes);
  }
}
