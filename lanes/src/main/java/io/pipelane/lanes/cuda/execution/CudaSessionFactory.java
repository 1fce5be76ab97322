package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.cuda.CudaEphemeralRegion;
import io.pipelane.lanes.cuda.ExecutionSettings;
import io.pipelane.lanes.cuda.SessionDevice;
import io.pipelane.lanes.cuda.driver.CudaException;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.EndlessRuns;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.ExecutionProvider;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.SessionSettings;
import io.pipelane.runtime.TensorMemory;
import io.pipelane.runtime.TensorSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A factory of sessions that run on a GPU, each in the lane it was built for. */
public final class CudaSessionFactory implements SessionFactory {
  private final SessionDevice device;
  private final DeviceMemory memory;
  private final ExecutionSettings settings;
  private final RunningStream running = new RunningStream();
  private final OrtEnvironment environment;

  /** Guards the lanes, and keeps captures and the building of sessions apart. */
  private final ReentrantLock building = new ReentrantLock();

  private final Map<CudaEphemeralRegion, CudaLane> lanes = new HashMap<>();
  private @Nullable EndlessRuns endless;

  /**
   * Loads ONNX Runtime; its CUDA provider and CUDA's libraries come with the first session.
   *
   * @param device that sessions run on; it outlives the factory
   * @param memory serves what sessions allocate
   * @throws io.pipelane.config.StatusException when the library cannot be loaded
   */
  public CudaSessionFactory(
      Path library, SessionDevice device, DeviceMemory memory, ExecutionSettings settings) {
    this.device = device;
    this.memory = memory;
    this.settings = settings;
    if (!settings.cublasWorkspace().isEmpty()) {
      NativeEnvironment.setIfAbsent("CUBLAS_WORKSPACE_CONFIG", settings.cublasWorkspace());
    }
    this.environment =
        OrtEnvironment.open(
            library,
            new TensorMemory.Cuda(device.context().index(), running),
            provider(0, false),
            memory);
  }

  private ExecutionProvider provider(long stream, boolean channelsLast) {
    return new ExecutionProvider.Cuda(
        device.context().index(), stream, settings.tf32(), channelsLast);
  }

  /**
   * Has uncaptured runs of graphs with loops end that launch for longer from one gate to the next;
   * they may take any time otherwise. Called before sessions are built.
   */
  public CudaSessionFactory endingRunsAfter(Duration longest) {
    endless = new EndlessRuns(longest, System::nanoTime);
    return this;
  }

  @Override
  public boolean boundToLane() {
    return true;
  }

  @Override
  public ModelSession gated(
      ImportedModel model, long address, @Nullable EphemeralRegion lane, MemoryTarget constants) {
    if (!(lane instanceof CudaEphemeralRegion region)) {
      throw new IllegalArgumentException("a session of a GPU belongs to a lane of it");
    }
    building.lock();
    try {
      device.context().bind();
      CudaLane owner =
          lanes.computeIfAbsent(region, r -> new CudaLane(device, memory, running, r, settings));
      return build(model, address, owner, constants);
    } catch (CudaException e) {
      throw CudaFailure.of(e);
    } finally {
      building.unlock();
    }
  }

  private CudaSession build(
      ImportedModel model, long address, CudaLane lane, MemoryTarget constants) {
    long before = lane.frameworkBytes();
    SessionSettings onDevice =
        SessionSettings.onDevice(1)
            .withProvider(provider(lane.stream().address(), model.plan().channelsLast()));
    OrtSession session =
        memory.allocatingFrom(constants, () -> environment.open(model.gatedModel(), onDevice));
    SessionBinding binding = new SessionBinding(environment, session, model.plan(), address);
    int segments = model.plan().segments().size();
    List<String> outputs = model.plan().outputs().stream().map(TensorSpec::name).toList();
    UncapturedRun uncaptured =
        new UncapturedRun(lane, binding, segments, model.plan().repeats() ? endless : null);
    Captures captures =
        new Captures(
            model.version().model(),
            settings.captures(),
            new CaptureBuilder(lane, binding, memory, constants, outputs, segments),
            new CaptureCheck(uncaptured, outputs),
            lane,
            building);
    int broughtToHost = model.plan().broughtToHost();
    if (broughtToHost > 0) {
      captures.refuse("a run brings %d values to the processor".formatted(broughtToHost));
    }
    long built = lane.frameworkGrowth(before);
    return new CudaSession(
        lane,
        binding,
        inPlace(model.plan(), address),
        uncaptured,
        captures,
        outputs,
        building,
        built);
  }

  private LongSupplier inPlace(Plan plan, long address) {
    return plan.inPlace().isEmpty() ? () -> 0 : device.inPlace(address, plan.inPlaceBytes());
  }

  @Override
  public boolean isLost() {
    return device.isLost();
  }

  @Override
  public long frameworkBytes() {
    return device.overheadBytes();
  }

  @Override
  public String runtimeVersion() {
    return environment.version();
  }

  @Override
  public void close() {
    if (endless != null) {
      endless.close();
    }
    building.lock();
    try {
      device.context().bind();
      lanes.values().forEach(CudaLane::close);
      lanes.clear();
      environment.close();
    } finally {
      building.unlock();
    }
  }
}
