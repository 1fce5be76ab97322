package io.pipelane.bench.accelerator;

import io.pipelane.lanes.Device;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.host.HostMemory;
import io.pipelane.modelstore.importing.ImportTarget;
import io.pipelane.runtime.ExecutionProvider;
import io.pipelane.switcher.grouping.PipelineCosts;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Optional;

/** A device that is opened for a benchmark, and what belongs to its kind. */
public interface Accelerator extends AutoCloseable {
  Device device();

  /** How long each captured segment of a session computes alone, where that is known. */
  Optional<double[]> segmentMillis(ModelSession session);

  /** What a plain session on the same device runs on. */
  ExecutionProvider provider();

  /**
   * Sessions on the device.
   *
   * @param memory what they allocate from
   * @param captures whether runs are captured and replayed, where the device can
   */
  SessionFactory sessions(DeviceMemory memory, boolean captures);

  /** ONNX Runtime's version. */
  default String runtimeVersion() {
    DeviceMemory memory = new DeviceMemory(device().persistent());
    try (SessionFactory sessions = sessions(memory, false)) {
      return sessions.runtimeVersion();
    }
  }

  /** The same device once more, for sessions in a worker process; on its own memory. */
  Accelerator inWorkers();

  /** What models are imported for. */
  ImportTarget target();

  /** Whether the device captures runs at all. */
  boolean captures();

  /** What transfers cost; measured now, while nothing else uses the device. */
  PipelineCosts costs();

  /** Blocks until what was mapped and unmapped so far really is. */
  void settle();

  /** Host memory that the device copies from at the link's speed; lives as long as this. */
  MemorySegment pinned(long bytes);

  /** Host memory that the device reads weights in place from. */
  default HostMemory tables() {
    return HostMemory.PAGE_CACHE;
  }

  /** Device memory for lanes and sessions. */
  long workingBytes();

  /** What a figure has to be read with, by name. */
  Map<String, String> description();

  /** Settings of a server on the same device. */
  Map<String, String> serverSettings();

  @Override
  void close();
}
