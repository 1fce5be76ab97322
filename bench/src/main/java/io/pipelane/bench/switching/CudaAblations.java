package io.pipelane.bench.switching;

import io.pipelane.bench.accelerator.CudaAccelerator;
import io.pipelane.bench.accelerator.HeldWeights;
import io.pipelane.bench.measure.Run;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.cuda.CudaEphemeralRegion;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.MemorySource;
import io.pipelane.switcher.grouping.Grouping.Group;
import java.io.IOException;
import java.util.List;

/**
 * A model on a GPU whose weights lie in memory that the product would not use: taken anew for each
 * run, or managed by the driver. Sessions, captures and lanes are the product's own; the queue and
 * its hops are left out.
 */
final class CudaAblations implements AutoCloseable {
  private static final long LANE_BYTES = 4L << 30;
  private static final long LONGEST_MANAGED = 1L << 30;

  private final CudaAccelerator accelerator;
  private final ImportedModel model;
  private final List<Tensor> inputs;
  private final MemorySource weights;
  private final int warmup;
  private final int iterations;
  private final DeviceMemory memory;
  private final PersistentMemory.Account constants;
  private final CudaEphemeralRegion lane;
  private final SessionFactory sessions;

  CudaAblations(
      CudaAccelerator accelerator,
      ImportedModel model,
      List<Tensor> inputs,
      int warmup,
      int iterations)
      throws IOException {
    this.accelerator = accelerator;
    this.model = model;
    this.inputs = inputs;
    this.warmup = warmup;
    this.iterations = iterations;
    weights = HeldWeights.read(model, accelerator::pinned);
    memory = new DeviceMemory(accelerator.device().persistent());
    constants = accelerator.device().persistent().open("ablations", Long.MAX_VALUE);
    lane = (CudaEphemeralRegion) accelerator.device().ephemeral(LANE_BYTES);
    memory.add(lane);
    lane.limit(LANE_BYTES);
    sessions = accelerator.sessions(memory, true);
  }

  /** Measures both kinds of memory. */
  void measure(Measured measured) throws Exception {
    measureAllocated(measured);
    if (weights.byteSize() <= LONGEST_MANAGED) {
      measureManaged(measured);
    }
  }

  private void measureAllocated(Measured measured) throws Exception {
    CudaContext context = accelerator.context();
    List<Group> groups = Stage.GROUPS.groups(model.plan(), 0);
    try (AllocatedWeights allocated =
            new AllocatedWeights(context, weights, model.plan(), groups, lane.stream());
        ModelSession session = session(allocated.address())) {
      LaneCaller caller = new LaneCaller(session, lane, model, inputs, accelerator);
      Run run =
          () -> {
            allocated.take();
            try {
              caller.run(allocated);
            } finally {
              allocated.giveBack();
            }
          };
      Contestant row = new Contestant(Row.ALLOCATED, () -> {}, run);
      Contestant.measure(List.of(row), warmup, iterations, measured);
    }
  }

  private void measureManaged(Measured measured) throws Exception {
    try (ManagedWeights managed = new ManagedWeights(accelerator.context(), weights);
        ModelSession session = session(managed.address())) {
      LaneCaller caller = new LaneCaller(session, lane, model, inputs, accelerator);
      Contestant row = new Contestant(Row.MANAGED, managed::bringHome, () -> caller.run(managed));
      Contestant.measure(List.of(row), warmup, iterations, measured);
    }
  }

  private ModelSession session(long address) {
    return sessions.gated(model, address, lane, new MemoryTarget.Persistent(constants));
  }

  @Override
  public void close() {
    sessions.close();
    constants.close();
    lane.close();
  }
}
