package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.cpu.WorkerRegion;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.PlacedTensor;
import io.pipelane.lanes.process.channel.ProtocolException;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * A run whose inputs lie in the lane already and whose outputs are left there: only what lies
 * elsewhere, or is to be encoded, is copied into the lane. Belongs to the lane's thread.
 *
 * <p>At its end everything is free again; what was there stays as it is until the lane's next run.
 */
final class PlacedInvocation implements Invocation, AutoCloseable {
  private final Plan plan;
  private final List<InputTensor> inputs = new ArrayList<>();
  private final List<Integer> wanted;
  private final WorkerRegion lane;
  private final MemoryTarget target;
  private final Consumer<PlacedInvocation> whenPlaced;
  private final boolean mayBeCaptured;
  private final List<Long> allocated = new ArrayList<>();
  private final List<PlacedTensor> results = new ArrayList<>();

  /**
   * A run.
   *
   * @param transferMemory where some of its inputs lie
   * @param lane where the others lie, and its outputs will
   * @param mayBeCaptured see {@link Invocation#mayBeCaptured}
   * @param whenPlaced told when the outputs are there and the session goes on
   */
  PlacedInvocation(
      Plan plan,
      Message.Run run,
      MemorySegment transferMemory,
      WorkerRegion lane,
      MemoryTarget.Growth growth,
      boolean mayBeCaptured,
      Consumer<PlacedInvocation> whenPlaced) {
    this.plan = plan;
    this.lane = lane;
    this.whenPlaced = whenPlaced;
    this.mayBeCaptured = mayBeCaptured;
    this.target = new MemoryTarget.Ephemeral(lane, growth);
    this.wanted = run.outputs();
    wanted.forEach(index -> specAt(plan.outputs(), index));
    run.inputs().forEach(this::add);
    for (PlacedTensor input : run.transfers()) {
      add(input, transferMemory.asSlice(input.offset(), input.byteSize()));
    }
  }

  private void add(PlacedTensor input) {
    long address = lane.allocate(input.byteSize());
    if (address != lane.address() + input.offset()) {
      throw new ProtocolException(
          "an input lies at " + input.offset() + ", which is not its place");
    }
    allocated.add(address);
    add(input, lane.at(input.offset(), input.byteSize()));
  }

  private void add(PlacedTensor input, MemorySegment data) {
    String name = specAt(plan.inputs(), input.index()).name();
    inputs.add(new InputTensor(name, input.type(), input.shape(), data));
  }

  private static TensorSpec specAt(List<TensorSpec> specs, int index) {
    if (index >= specs.size()) {
      throw new ProtocolException("the model has no tensor " + index);
    }
    return specs.get(index);
  }

  @Override
  public boolean mayBeCaptured() {
    return mayBeCaptured;
  }

  @Override
  public List<InputTensor> inputs() {
    return inputs;
  }

  @Override
  public List<String> outputs() {
    return wanted.stream().map(index -> plan.outputs().get(index).name()).toList();
  }

  @Override
  public boolean takes(String name, TensorType type, Shape shape, MemorySegment data) {
    if (!lane.contains(data)) {
      return false;
    }
    add(type, shape, data);
    return true;
  }

  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    long address = target.allocate(byteSize);
    if (address == 0) {
      throw new OutOfDeviceMemoryException(byteSize);
    }
    allocated.add(address);
    MemorySegment data = lane.at(address - lane.address(), byteSize);
    add(type, shape, data);
    return data;
  }

  /** Outputs come in the order in which they are wanted. */
  private void add(TensorType type, Shape shape, MemorySegment data) {
    int index = wanted.get(results.size());
    long offset = data.address() - lane.address();
    results.add(new PlacedTensor(index, type, shape, offset, data.byteSize()));
  }

  /** Where the outputs lie. */
  List<PlacedTensor> results() {
    return results;
  }

  @Override
  public void placed() {
    whenPlaced.accept(this);
  }

  /** Frees what the invocation itself has allocated. */
  @Override
  public void close() {
    allocated.forEach(lane::free);
  }
}
