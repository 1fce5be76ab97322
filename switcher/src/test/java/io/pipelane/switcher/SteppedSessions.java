package io.pipelane.switcher;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Sessions whose runs take their lane's memory step by step and compute nothing: they answer the
 * first and the last byte of their weights. Safe for any thread.
 */
final class SteppedSessions implements SessionFactory {
  static final long STEP_BYTES = 1 << 20;

  private final DeviceMemory memory;

  /** How many steps a run of a structure takes. */
  volatile ToIntFunction<String> steps = _ -> 1;

  /** What a run does once it has taken so many. */
  volatile BiConsumer<String, Integer> taken = (structure, count) -> {};

  /** What a session takes of working memory for as long as it is there. */
  volatile long constantBytes;

  /** What building a session of a structure does first. */
  volatile Consumer<String> building = _ -> {};

  /** Whether the device cannot be used for now. */
  volatile boolean lost;

  /** Runs that began, those that did not get all they needed included. */
  final AtomicInteger runs = new AtomicInteger();

  SteppedSessions(DeviceMemory memory) {
    this.memory = memory;
  }

  @Override
  public boolean boundToLane() {
    return false;
  }

  @Override
  public boolean isLost() {
    return lost;
  }

  @Override
  public ModelSession gated(
      ImportedModel model, long address, @Nullable EphemeralRegion lane, MemoryTarget constants) {
    building.accept(model.plan().structureHash());
    if (constantBytes > 0) {
      long _ = memory.allocatingFrom(constants, () -> memory.allocate(constantBytes));
    }
    return new Session(model.plan(), address);
  }

  @Override
  public String runtimeVersion() {
    return "none";
  }

  @Override
  public void close() {}

  private final class Session implements ModelSession {
    private final Plan plan;
    private final long address;

    Session(Plan plan, long address) {
      this.plan = plan;
      this.address = address;
    }

    @Override
    public void run(
        Invocation invocation,
        EphemeralRegion region,
        MemoryTarget.Growth growth,
        WeightArrivals weights) {
      runs.incrementAndGet();
      List<Long> held = new ArrayList<>();
      try {
        boolean _ =
            memory.allocatingFrom(
                new MemoryTarget.Ephemeral(region, growth),
                () -> {
                  takeSteps(held);
                  return true;
                });
      } finally {
        held.forEach(memory::free);
      }
      for (int segment = 0; segment < plan.segments().size(); segment++) {
        weights.giveWay(segment);
        weights.await(segment);
      }
      MemorySegment content = MemorySegment.ofAddress(address).reinterpret(plan.weightBytes());
      float first = content.get(ValueLayout.JAVA_BYTE, 0);
      float last = content.get(ValueLayout.JAVA_BYTE, plan.weightBytes() - 1);
      invocation
          .place("y", TensorType.FP32, Shape.of(2), 8)
          .copyFrom(MemorySegment.ofArray(new float[] {first, last}));
    }

    private void takeSteps(List<Long> held) {
      int wanted = steps.applyAsInt(plan.structureHash());
      for (int i = 1; i <= wanted; i++) {
        long step = memory.allocate(STEP_BYTES);
        if (step == 0) {
          throw new IllegalStateException("step " + i + " of " + wanted + " was refused");
        }
        held.add(step);
        taken.accept(plan.structureHash(), i);
      }
    }

    @Override
    public void close() {}
  }
}
