package io.pipelane.lanes.cpu.execution;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.SessionRanges;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.EndlessRuns;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.OrtEnvironment;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A factory of sessions that run on the processor, each in as many lanes at once as want to. */
public final class CpuSessionFactory implements SessionFactory {
  private final SessionRanges ranges;
  private final OrtEnvironment environment;
  private final Runnable end;
  private final DeviceMemory memory;
  private final int threadsPerRun;
  private @Nullable EndlessRuns endless;

  /**
   * Loads ONNX Runtime.
   *
   * @param device whose ranges weights lie in
   * @param memory serves what sessions allocate
   * @param threadsPerRun threads of one run, its lane's own included
   */
  public CpuSessionFactory(CpuDevice device, Path library, DeviceMemory memory, int threadsPerRun) {
    this(device.sessionRanges(), library, memory, threadsPerRun);
  }

  CpuSessionFactory(SessionRanges ranges, Path library, DeviceMemory memory, int threadsPerRun) {
    this(ranges, OrtEnvironment.open(library, memory), memory, threadsPerRun);
  }

  private CpuSessionFactory(
      SessionRanges ranges, OrtEnvironment environment, DeviceMemory memory, int threadsPerRun) {
    this(ranges, environment, environment::close, memory, threadsPerRun);
  }

  /**
   * Builds sessions in an environment that is open.
   *
   * @param end closes it, where that is this factory's to do
   */
  CpuSessionFactory(
      SessionRanges ranges,
      OrtEnvironment environment,
      Runnable end,
      DeviceMemory memory,
      int threadsPerRun) {
    this.ranges = ranges;
    this.environment = environment;
    this.end = end;
    this.memory = memory;
    this.threadsPerRun = threadsPerRun;
  }

  /**
   * Has runs of graphs with loops end that compute for longer from one gate to the next; they may
   * take any time otherwise. Called before sessions are built.
   */
  public CpuSessionFactory endingRunsAfter(Duration longest) {
    endless = new EndlessRuns(longest, System::nanoTime);
    return this;
  }

  @Override
  public boolean computesOnCaller() {
    return threadsPerRun == 1;
  }

  @Override
  public boolean boundToLane() {
    return false;
  }

  @Override
  public ModelSession gated(
      ImportedModel model, long address, @Nullable EphemeralRegion lane, MemoryTarget constants) {
    long window = model.plan().inPlace().isEmpty() ? 0 : ranges.windowAddress(address);
    if (model.plan().repacked().isEmpty()) {
      return CpuSession.gated(
          environment, memory, ranges, model, address, window, threadsPerRun, endless, constants);
    }
    try (SessionRanges.Scratch _ = ranges.scratch(address)) {
      return CpuSession.gated(
          environment, memory, ranges, model, address, window, threadsPerRun, endless, constants);
    }
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
    end.run();
  }
}
