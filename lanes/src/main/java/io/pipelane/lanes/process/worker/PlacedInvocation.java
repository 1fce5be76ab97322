package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.cpu.execution.WorkerRegion;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.StateNumber;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.PlacedNumber;
import io.pipelane.lanes.process.channel.PlacedTensor;
import io.pipelane.lanes.process.channel.ProtocolException;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * A run whose inputs lie in the lane already and whose outputs are left there: only what lies
 * elsewhere, or is to be encoded, is copied into the lane. Large outputs that a device copies go
 * straight to where the server wants them. Belongs to the lane's thread.
 *
 * <p>At its end everything is free again; what was there stays as it is until the lane's next run.
 */
final class PlacedInvocation implements Invocation, AutoCloseable {
  /** A smaller one is copied sooner than asked for. */
  private static final long LARGE_BYTES = 256 << 10;

  private final Plan plan;
  private final ServerMemory server;
  private final Places places;
  private final Optional<StateNumber> stateNumber;
  private final List<InputTensor> inputs = new ArrayList<>();
  private final List<Integer> wanted;
  private final List<String> names;
  private final WorkerRegion lane;
  private final MemoryTarget target;
  private final Consumer<PlacedInvocation> whenPlaced;
  private final boolean mayBeCaptured;
  private final List<Long> allocated = new ArrayList<>();

  /** By their positions among those wanted. */
  private final SortedMap<Integer, PlacedTensor> results = new TreeMap<>();

  private boolean isPlacing = true;

  /** The places for outputs. */
  @FunctionalInterface
  interface Places {
    /**
     * Asks for one's place.
     *
     * @param position among the outputs wanted
     * @param output whose offset says nothing yet
     * @return where in the server's memory, or {@link Message.Placed#IN_LANE}
     */
    long of(int position, PlacedTensor output);
  }

  /**
   * A run.
   *
   * @param server where some of its inputs lie
   * @param places where an output goes
   * @param lane where the others lie, and its outputs will
   * @param mayBeCaptured see {@link Invocation#mayBeCaptured}
   * @param whenPlaced told when the outputs are there and the session goes on
   */
  PlacedInvocation(
      Plan plan,
      Message.Run run,
      ServerMemory server,
      Places places,
      WorkerRegion lane,
      MemoryTarget.Growth growth,
      boolean mayBeCaptured,
      Consumer<PlacedInvocation> whenPlaced) {
    this.plan = plan;
    this.server = server;
    this.places = places;
    this.lane = lane;
    this.whenPlaced = whenPlaced;
    this.mayBeCaptured = mayBeCaptured;
    this.target = new MemoryTarget.Ephemeral(lane, growth);
    this.wanted = run.outputs();
    this.names = wanted.stream().map(index -> specAt(plan.outputs(), index).name()).toList();
    try {
      run.inputs().forEach(this::add);
      for (PlacedTensor input : run.transfers()) {
        MemorySegment data = server.at(input.offset(), input.byteSize());
        add(input, data, server.isState(input.offset()));
      }
      this.stateNumber = run.state().map(this::number);
    } catch (RuntimeException | Error e) { // A state could not be mapped, say.
      close();
      throw e;
    }
  }

  private StateNumber number(PlacedNumber state) {
    return new StateNumber(server.at(state.offset(), Integer.BYTES), state.number());
  }

  private void add(PlacedTensor input) {
    long address = lane.allocate(input.byteSize());
    if (address != lane.address() + input.offset()) {
      throw new ProtocolException(
          "an input lies at " + input.offset() + ", which is not its place");
    }
    allocated.add(address);
    add(input, lane.at(input.offset(), input.byteSize()), false);
  }

  private void add(PlacedTensor input, MemorySegment data, boolean onDevice) {
    String name = specAt(plan.inputs(), input.index()).name();
    inputs.add(new InputTensor(name, input.type(), input.shape(), data, onDevice));
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
    return names;
  }

  @Override
  public Optional<StateNumber> stateNumber() {
    return stateNumber;
  }

  @Override
  public boolean takes(String name, TensorType type, Shape shape, MemorySegment data) {
    if (!lane.contains(data)) {
      return false;
    }
    add(name, type, shape, data);
    return true;
  }

  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    long offset = atServer(name, type, shape, byteSize);
    if (offset != Message.Placed.IN_LANE) {
      return server.at(offset, byteSize);
    }
    long address = target.allocate(byteSize);
    if (address == 0) {
      throw new OutOfDeviceMemoryException(byteSize);
    }
    allocated.add(address);
    MemorySegment data = lane.at(address - lane.address(), byteSize);
    add(name, type, shape, data);
    return data;
  }

  /**
   * Asks where the first outputs go as long as they are large, and where all go of which some
   * become a state. Strings the server checks in memory that nobody else writes to.
   */
  private long atServer(String name, TensorType type, Shape shape, long byteSize) {
    int position = position(name);
    isPlacing &=
        position == results.size()
            && byteSize >= LARGE_BYTES
            && server.transferMemory().byteSize() > 0;
    if (type == TensorType.BYTES || !(isPlacing || stateNumber.isPresent())) {
      isPlacing = false;
      return Message.Placed.IN_LANE;
    }
    PlacedTensor output = new PlacedTensor(wanted.get(position), type, shape, 0, byteSize);
    long offset = places.of(position, output);
    isPlacing &= offset != Message.Placed.IN_LANE;
    if (offset != Message.Placed.IN_LANE) {
      results.put(position, output.at(offset));
    }
    return offset;
  }

  private void add(String name, TensorType type, Shape shape, MemorySegment data) {
    int position = position(name);
    long offset = data.address() - lane.address();
    results.put(
        position, new PlacedTensor(wanted.get(position), type, shape, offset, data.byteSize()));
  }

  /** The first of an output that has no place yet: they come in any order. */
  private int position(String name) {
    for (int position = 0; position < wanted.size(); position++) {
      if (names.get(position).equals(name) && !results.containsKey(position)) {
        return position;
      }
    }
    throw new IllegalStateException("output \"" + name + "\" is not wanted");
  }

  /** Where the outputs lie, in the order in which they are wanted. */
  List<PlacedTensor> results() {
    return List.copyOf(results.values());
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
