package io.pipelane.switcher;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.BytesSource;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Sessions that belong to a lane and run nothing: they answer the first and the last byte of their
 * weights. Every misuse is an error. Safe for any thread.
 */
final class BoundSessions implements SessionFactory {
  static final long CONSTANT_BYTES = 1000;

  private final DeviceMemory memory;
  volatile long deviceBytes;
  final AtomicInteger built = new AtomicInteger();
  final AtomicInteger open = new AtomicInteger();
  final ConcurrentMap<String, AtomicInteger> openBySeat = new ConcurrentHashMap<>();
  final AtomicInteger failures = new AtomicInteger();

  /** How many are built next that find too little memory. */
  final AtomicInteger outgrown = new AtomicInteger();

  volatile long growthPerRun;

  /** What happens while a session of a model is built. */
  volatile Consumer<ImportedModel> inBuild = model -> {};

  /** What a run does before it waits for its weights. */
  volatile Runnable beforeRun = () -> {};

  /** What a run does once its outputs are written; the argument is its session's lane. */
  volatile Consumer<EphemeralRegion> inRun = lane -> {};

  volatile List<String> notes = List.of();

  /** Whether nothing can be run for now. */
  volatile boolean lost;

  BoundSessions(DeviceMemory memory, long deviceBytes) {
    this.memory = memory;
    this.deviceBytes = deviceBytes;
  }

  /** A model of pages that all hold one number; models of one structure differ in nothing else. */
  static ImportedModel model(String name, String structure, long weightBytes) {
    List<Plan.Segment> segments = new ArrayList<>();
    for (long offset = 0; offset < weightBytes; offset += weightBytes / 4) {
      segments.add(new Plan.Segment(offset, weightBytes / 4, 1));
    }
    Plan plan =
        new Plan(
            structure, List.of(), List.of(), List.of(), segments, weightBytes, 0, 0, List.of());
    Path nowhere = Path.of(name);
    return new ImportedModel(new ModelVersion(name, 1), plan, nowhere, nowhere);
  }

  /** Weights that are all the {@link #number} of their model. */
  static WeightSource weights(ImportedModel model) {
    byte[] content = new byte[(int) model.plan().weightBytes()];
    Arrays.fill(content, number(model.version()));
    return new BytesSource(content);
  }

  /** The number that a model is called by. */
  static byte number(ModelVersion version) {
    return Byte.parseByte(version.model());
  }

  @Override
  public boolean boundToLane() {
    return true;
  }

  @Override
  public boolean isLost() {
    return lost;
  }

  @Override
  public ModelSession gated(
      ImportedModel model, long address, @Nullable EphemeralRegion lane, MemoryTarget constants) {
    if (lane == null) {
      throw new IllegalStateException("no lane");
    }
    inBuild.accept(model);
    if (failures.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      throw new StatusException(Status.INVALID_ARGUMENT, "refused on purpose");
    }
    if (outgrown.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      throw new OutOfDeviceMemoryException(CONSTANT_BYTES);
    }
    memory.allocatingFrom(constants, () -> memory.allocate(CONSTANT_BYTES));
    String seat = address + " in " + lane.address();
    if (openBySeat.computeIfAbsent(seat, key -> new AtomicInteger()).incrementAndGet() > 1) {
      throw new IllegalStateException("two sessions " + seat);
    }
    built.incrementAndGet();
    open.incrementAndGet();
    return new Session(model.plan(), address, lane, seat);
  }

  @Override
  public String runtimeVersion() {
    return "none";
  }

  @Override
  public void close() {
    if (open.get() != 0) {
      throw new IllegalStateException(open + " sessions are open");
    }
  }

  private final class Session implements ModelSession {
    private final Plan plan;
    private final long address;
    private final EphemeralRegion lane;
    private final String seat;
    private final AtomicInteger running = new AtomicInteger();
    private final AtomicLong bytes = new AtomicLong(deviceBytes);
    private volatile boolean closed;

    Session(Plan plan, long address, EphemeralRegion lane, String seat) {
      this.plan = plan;
      this.address = address;
      this.lane = lane;
      this.seat = seat;
    }

    @Override
    public void run(
        Invocation invocation,
        EphemeralRegion region,
        MemoryTarget.Growth growth,
        WeightArrivals weights) {
      if (region.address() != lane.address() || closed || running.getAndIncrement() != 0) {
        throw new IllegalStateException("misused: " + seat);
      }
      long scratch =
          memory.allocatingFrom(
              new MemoryTarget.Ephemeral(region, growth), () -> memory.allocate(100));
      MemorySegment content = MemorySegment.ofAddress(address).reinterpret(plan.weightBytes());
      boolean isThrough = false;
      try {
        beforeRun.run();
        for (int segment = 0; segment < plan.segments().size(); segment++) {
          weights.giveWay(segment);
          weights.await(segment);
        }
        isThrough = true;
      } finally {
        if (!isThrough) { // It was ended at a gate, or before.
          memory.free(scratch);
          running.decrementAndGet();
        }
      }
      float first = content.get(ValueLayout.JAVA_BYTE, 0);
      float last = content.get(ValueLayout.JAVA_BYTE, plan.weightBytes() - 1);
      invocation
          .place("y", TensorType.FP32, Shape.of(2), 8)
          .copyFrom(MemorySegment.ofArray(new float[] {first, last}));
      memory.free(scratch);
      try {
        inRun.accept(lane);
      } finally {
        running.decrementAndGet();
      }
      bytes.addAndGet(growthPerRun);
    }

    @Override
    public List<String> notes() {
      return BoundSessions.this.notes;
    }

    @Override
    public long frameworkBytes() {
      return bytes.get() - EphemeralRegion.align(CONSTANT_BYTES);
    }

    @Override
    public void close() {
      if (closed || running.get() != 0) {
        throw new IllegalStateException("closed while in use");
      }
      closed = true;
      open.decrementAndGet();
      Objects.requireNonNull(openBySeat.get(seat)).decrementAndGet();
    }
  }
}
