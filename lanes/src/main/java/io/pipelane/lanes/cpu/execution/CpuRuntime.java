package io.pipelane.lanes.cpu.execution;

import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.JointMemory;
import io.pipelane.runtime.OrtEnvironment;
import java.nio.file.Path;

/**
 * ONNX Runtime for several devices of the processor: it has one environment a process, with one
 * allocator for the processor's memory. Outlives the session factories that it makes.
 */
public final class CpuRuntime implements AutoCloseable {
  private final JointMemory memory = new JointMemory();
  private final OrtEnvironment environment;

  /** Loads ONNX Runtime. */
  public CpuRuntime(Path library) {
    environment = OrtEnvironment.open(library, memory);
  }

  /**
   * Builds sessions on one of the devices.
   *
   * @param device whose ranges weights lie in
   * @param memory serves what sessions allocate
   * @param threadsPerRun threads of one run, its lane's own included
   */
  public CpuSessionFactory sessions(CpuDevice device, DeviceMemory memory, int threadsPerRun) {
    this.memory.add(memory);
    return new CpuSessionFactory(
        device.sessionRanges(), environment, () -> {}, memory, threadsPerRun);
  }

  @Override
  public void close() {
    environment.close();
  }
}
