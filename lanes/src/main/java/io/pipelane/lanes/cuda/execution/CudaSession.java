package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.cuda.driver.CudaException;
import io.pipelane.lanes.cuda.execution.tensor.InputShapes;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.WeightArrivals;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A gated session of one lane, and its captures for the shapes that are asked for often: other
 * shapes run uncaptured. A run belongs to the thread that has the lane.
 */
public final class CudaSession implements ModelSession {
  private static final System.Logger LOG = System.getLogger(CudaSession.class.getName());
  private static final int SHAPES_TIMED = 64;

  private final CudaLane lane;
  private final SessionBinding binding;
  private final LongSupplier inPlace;
  private final UncapturedRun uncaptured;
  private final Captures captures;
  private final ReentrantLock building;
  private final Map<InputShapes, RunTimes> times = new LinkedHashMap<>(16, 0.75f, true);
  private final long builtBytes;
  private volatile long firstRunBytes;
  private boolean hasRun;
  private boolean isCaptured;

  /**
   * A session.
   *
   * @param inPlace where the model that runs next reads in place; 0 where nothing is
   * @param building see {@link Captures}
   * @param builtBytes device memory that building it has taken
   */
  CudaSession(
      CudaLane lane,
      SessionBinding binding,
      LongSupplier inPlace,
      UncapturedRun uncaptured,
      Captures captures,
      List<String> outputs,
      ReentrantLock building,
      long builtBytes) {
    this.lane = lane;
    this.binding = binding;
    this.inPlace = inPlace;
    this.uncaptured = uncaptured;
    this.captures = captures;
    this.building = building;
    this.builtBytes = builtBytes;
    if (binding.computesOnHost(outputs)) {
      captures.refuse("an output is computed on the host");
    }
  }

  /**
   * {@inheritDoc}
   *
   * <p>A request that brings a shape to its capture has its outputs first; the capture, some tens
   * of milliseconds, is made from its inputs before this returns.
   */
  @Override
  public void run(
      Invocation invocation,
      EphemeralRegion region,
      MemoryTarget.Growth growth,
      WeightArrivals weights) {
    if (!region.equals(lane.region())) {
      throw new IllegalArgumentException("the session belongs to another lane");
    }
    try {
      long inPlaceAddress = inPlace.getAsLong();
      CaptureKey key = new CaptureKey(InputShapes.of(invocation.inputs()), inPlaceAddress);
      Captures.Entry captured = captures.find(key);
      isCaptured = captured != null;
      if (captured != null) {
        captured.run().run(invocation, growth, weights, captured.times());
      } else {
        binding.readInPlaceAt(inPlaceAddress);
        runUncaptured(key, invocation, growth, weights);
      }
    } catch (CudaException e) {
      throw CudaFailure.of(e);
    }
  }

  private void runUncaptured(
      CaptureKey key, Invocation invocation, MemoryTarget.Growth growth, WeightArrivals weights) {
    long before = hasRun ? 0 : lane.frameworkBytes();
    uncaptured.run(invocation, growth, weights, timesOf(key.shapes()));
    if (!hasRun) {
      hasRun = true;
      firstRunBytes = lane.frameworkGrowth(before);
    }
    if (invocation.inputs().stream().anyMatch(binding::isOnHost)) {
      captures.refuse("an input is read on the host");
    }
    if (invocation.mayBeCaptured() && captures.areDue(key)) {
      try (Arena arena = Arena.ofConfined()) {
        List<InputTensor> inputs = copies(invocation.inputs(), arena);
        invocation.placed();
        captures.capture(key, inputs, growth);
        Captures.Entry captured = captures.find(key);
        isCaptured = captured != null;
        tellTimes(captured, weights);
      }
    }
  }

  private static void tellTimes(Captures.@Nullable Entry captured, WeightArrivals weights) {
    if (captured != null) {
      List<Duration> times = captured.capture().segmentTimes();
      weights.computed(times.stream().mapToLong(Duration::toNanos).toArray());
    }
  }

  /** The caller takes his inputs back with the answer. */
  private List<InputTensor> copies(List<InputTensor> inputs, Arena arena) {
    return inputs.stream().map(input -> lane.onHost(input, arena)).toList();
  }

  private RunTimes timesOf(InputShapes shapes) {
    RunTimes result = times.computeIfAbsent(shapes, unseen -> new RunTimes());
    if (times.size() > SHAPES_TIMED) {
      times.remove(times.keySet().iterator().next());
    }
    return result;
  }

  /** What is captured at present. */
  public List<Capture> captures() {
    return captures.known();
  }

  /** {@inheritDoc} Captures go, and none are made. */
  @Override
  public void shrink() {
    lane.stream().context().bind();
    captures.clear();
    captures.suspend("there was no memory for captures beside the session");
  }

  @Override
  public void captureAgain() {
    captures.resume();
  }

  @Override
  public boolean isCaptured() {
    return isCaptured;
  }

  @Override
  public List<String> notes() {
    return captures.notes();
  }

  @Override
  public long frameworkBytes() {
    return builtBytes
        + firstRunBytes
        + captures.known().stream().mapToLong(Capture::deviceBytes).sum();
  }

  @Override
  public void close() {
    building.lock();
    try {
      lane.stream().context().bind();
      captures.close();
    } catch (CudaException e) {
      LOG.log(System.Logger.Level.WARNING, "captures of a failed device", e);
    } finally {
      closeBinding();
    }
  }

  private void closeBinding() {
    try {
      binding.close();
    } finally {
      building.unlock();
    }
  }
}
