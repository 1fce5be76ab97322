package io.pipelane.lanes.cpu.execution;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.cpu.SessionRanges;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.EndableRun;
import io.pipelane.lanes.execution.EndlessRuns;
import io.pipelane.lanes.execution.HostOutput;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.Plan.StreamedWeight;
import io.pipelane.runtime.IoBinding;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.OrtTensor;
import io.pipelane.runtime.RepackedPlacement;
import io.pipelane.runtime.SessionSettings;
import io.pipelane.runtime.StandInWeights;
import io.pipelane.runtime.StringTensors;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.graph.InPlaceWeight;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A session whose weights lie in an address range of the device, ready to run in any lane.
 *
 * <p>Its streamed weights need to be there only when their gate lets the run pass. Some are inputs;
 * those that kernels repack are theirs, at places in the range that are given to them when the
 * session is built.
 *
 * <p>Runs are safe on several platform threads at once.
 */
final class CpuSession implements ModelSession {
  private final OrtEnvironment environment;
  private final DeviceMemory memory;
  private final SessionRanges ranges;
  private final OrtSession session;
  private final Map<String, OrtTensor> weights;
  private final int segments;
  private final @Nullable EndlessRuns endless;
  private final Deque<Bound> idleBindings = new ArrayDeque<>();
  private final AtomicBoolean placesAreRefused = new AtomicBoolean();

  /** What runs are bound to, each for one at a time. */
  private record Bound(IoBinding binding, OutputPlaces outputs) {}

  private CpuSession(
      OrtEnvironment environment,
      DeviceMemory memory,
      SessionRanges ranges,
      OrtSession session,
      Map<String, OrtTensor> weights,
      int segments,
      @Nullable EndlessRuns endless) {
    this.segments = segments;
    this.endless = endless;
    this.environment = environment;
    this.memory = memory;
    this.ranges = ranges;
    this.session = session;
    this.weights = weights;
  }

  /**
   * Builds a session; the range need not be mapped.
   *
   * @param ranges of the device
   * @param address where the streamed weights begin
   * @param window where those begin that are read in place, if there are any
   * @param endless ends runs of a graph with loops that take too long; null where none does
   * @param constants charged with the constants that stay inside the session
   * @throws OutOfDeviceMemoryException when the constants do not fit
   */
  static CpuSession gated(
      OrtEnvironment environment,
      DeviceMemory memory,
      SessionRanges ranges,
      ImportedModel model,
      long address,
      long window,
      int threads,
      @Nullable EndlessRuns endless,
      MemoryTarget constants) {
    Map<String, OrtTensor> weights = new LinkedHashMap<>();
    for (StreamedWeight w : model.plan().weights()) {
      long place = address + w.offset();
      weights.put(w.name(), OrtTensor.over(environment, place, w.byteSize(), w.type(), w.shape()));
    }
    for (InPlaceWeight w : model.plan().inPlace()) {
      long place = window + w.offset();
      weights.put(w.name(), OrtTensor.over(environment, place, w.byteSize(), w.type(), w.shape()));
    }
    try {
      SessionSettings settings = SessionSettings.onDevice(threads);
      OrtSession session = build(environment, memory, model, address, settings, constants);
      return new CpuSession(
          environment,
          memory,
          ranges,
          session,
          weights,
          model.plan().segments().size(),
          model.plan().repeats() ? endless : null);
    } catch (RuntimeException e) {
      weights.values().forEach(OrtTensor::close);
      throw e;
    }
  }

  /** What kernels repack gets its place; its content is garbage until it arrives. */
  private static OrtSession build(
      OrtEnvironment environment,
      DeviceMemory memory,
      ImportedModel model,
      long address,
      SessionSettings settings,
      MemoryTarget constants) {
    RepackedPlacement places = new RepackedPlacement(model.plan().repacked(), address);
    try (StandInWeights standIns = StandInWeights.of(environment, model.plan().repacked())) {
      OrtSession session =
          memory.allocatingFrom(
              new MemoryTarget.Placed(places, constants),
              () ->
                  environment.open(
                      model.gatedModel(), settings.withInitializers(standIns.tensors())));
      try {
        places.check();
        return session;
      } catch (RuntimeException e) {
        session.close();
        throw e;
      }
    }
  }

  @Override
  public void run(
      Invocation invocation,
      EphemeralRegion region,
      MemoryTarget.Growth growth,
      WeightArrivals weights) {
    SegmentClock clock = new SegmentClock(weights, segments);
    MemoryTarget target = new MemoryTarget.Ephemeral(region, growth);
    Bound bound = takeBinding();
    boolean reusable = false;
    try {
      memory.allocatingFrom(
          target,
          () -> {
            runBound(bound, invocation, region, clock, weights);
            return this;
          });
      reusable = true;
    } finally {
      giveBack(bound, reusable);
    }
  }

  private void runBound(
      Bound bound,
      Invocation invocation,
      EphemeralRegion region,
      SegmentClock clock,
      WeightArrivals weights) {
    List<Long> copies = new ArrayList<>(invocation.inputs().size());
    try {
      boolean areAsBefore = true;
      for (InputTensor input : invocation.inputs()) {
        areAsBefore &= bind(bound.binding, input, region, copies);
      }
      if (!areAsBefore || !runWithPlaces(bound, invocation, clock, weights)) {
        runWithoutPlaces(bound, invocation, clock, weights);
      }
    } finally {
      copies.forEach(memory::free);
    }
  }

  /** Runs with places for the outputs; false where there are none, or others than were needed. */
  private boolean runWithPlaces(
      Bound bound, Invocation invocation, SegmentClock clock, WeightArrivals weights) {
    if (segments > 1 || !bound.outputs.areKnown(invocation.outputs())) {
      return false;
    }
    List<Long> places = new ArrayList<>(invocation.outputs().size());
    try {
      boolean hasRun =
          bound.outputs.give(bytes -> allocate(bytes, places))
              && computeIntoPlaces(bound, clock, weights);
      if (hasRun) {
        bound.outputs.take(invocation);
      } else {
        bound.outputs.refuse();
        memory.beginAnew();
      }
      return hasRun;
    } finally {
      places.forEach(memory::free);
    }
  }

  /** False where a run without places may do better. */
  private boolean computeIntoPlaces(Bound bound, SegmentClock clock, WeightArrivals weights) {
    clock.begin();
    try {
      EndableRun.compute(bound.binding, clock, weights, endless);
    } catch (StatusException e) {
      boolean areToBlame = IoBinding.isOfAnotherShape(e) || memory.hasRefused();
      if (bound.binding.isEnded() || !areToBlame) {
        throw e;
      }
      return false;
    }
    clock.end();
    return true;
  }

  private void runWithoutPlaces(
      Bound bound, Invocation invocation, SegmentClock clock, WeightArrivals weights) {
    bound.outputs.forget();
    IoBinding binding = bound.binding;
    try {
      invocation.outputs().forEach(binding::output);
      clock.begin();
      EndableRun.compute(binding, clock, weights, endless);
      clock.end();
      bound.outputs.learn(invocation.outputs(), copyOut(binding, invocation));
    } finally {
      binding.clearOutputs();
    }
  }

  /** Binds an input; whether the same was bound already. */
  private boolean bind(
      IoBinding binding, InputTensor input, EphemeralRegion region, List<Long> copies) {
    if (input.type() == TensorType.BYTES) {
      try (OrtTensor strings = StringTensors.decode(environment, input.data(), input.shape())) {
        binding.input(input.name(), strings);
      }
      return false;
    }
    long address =
        isReadInPlace(input, region) ? input.data().address() : copyToLane(input, copies);
    long bytes = input.data().byteSize();
    return binding.input(input.name(), address, bytes, input.type(), input.shape());
  }

  /** In memory that nobody but runs writes to, and aligned for them. */
  private boolean isReadInPlace(InputTensor input, EphemeralRegion region) {
    return region.contains(input.data()) || ranges.isState(input.data());
  }

  private long copyToLane(InputTensor input, List<Long> copies) {
    long bytes = input.data().byteSize();
    long address = allocate(bytes, copies);
    if (address == 0) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "input \"" + input.name() + "\" of " + bytes + " bytes does not fit its lane");
    }
    MemorySegment.ofAddress(address).reinterpret(bytes).copyFrom(input.data());
    return address;
  }

  /** Where a block of the lane is, which is noted; 0 where there is no room. */
  private long allocate(long bytes, List<Long> blocks) {
    // An empty tensor needs an address too.
    long address = memory.allocate(Math.max(1, bytes));
    if (address != 0) {
      blocks.add(address);
    }
    return address;
  }

  /** Copies outputs to where they are wanted; what they are like. */
  private static List<OrtTensor.Form> copyOut(IoBinding binding, Invocation invocation) {
    List<OrtTensor> results = binding.outputs();
    List<OrtTensor.Form> forms = new ArrayList<>(results.size());
    try {
      for (int i = 0; i < results.size(); i++) {
        forms.add(HostOutput.place(invocation.outputs().get(i), results.get(i), invocation));
      }
      return forms;
    } finally {
      results.forEach(OrtTensor::close);
    }
  }

  private Bound takeBinding() {
    synchronized (idleBindings) {
      if (!idleBindings.isEmpty()) {
        return idleBindings.pop();
      }
    }
    IoBinding binding = session.newBinding();
    weights.forEach(binding::input);
    return new Bound(binding, new OutputPlaces(binding, placesAreRefused));
  }

  private void giveBack(Bound bound, boolean reusable) {
    if (!reusable || bound.binding.isEnded()) {
      bound.binding.close();
      return;
    }
    synchronized (idleBindings) {
      idleBindings.push(bound);
    }
  }

  @Override
  public void close() {
    idleBindings.forEach(bound -> bound.binding.close());
    session.close();
    weights.values().forEach(OrtTensor::close);
  }
}
