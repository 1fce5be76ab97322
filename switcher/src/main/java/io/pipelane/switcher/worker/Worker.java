package io.pipelane.switcher.worker;

import io.pipelane.lanes.execution.LaneLease;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.memory.Lease;

/**
 * Builds and runs sessions on memory that the memory daemon lends, in this process or in one of its
 * own. Safe for any platform thread.
 */
public interface Worker extends AutoCloseable {
  /**
   * Makes a model known, and builds its session where there is room for its constants.
   *
   * @param address where its weights will lie
   * @throws io.pipelane.config.StatusException when ONNX Runtime refuses the model, or its
   *     constants can never fit
   */
  void prepare(ImportedModel model, long address);

  /**
   * Runs a request once, on the calling thread; places its outputs with the handler, and tells the
   * handler nothing else.
   *
   * @throws io.pipelane.lanes.execution.OutOfDeviceMemoryException when the lane has no room and
   *     cannot grow; nothing has been placed then
   * @throws io.pipelane.config.StatusException when the run fails
   */
  void run(InferenceRequest request, Lease lease, LaneLease lane, ResultHandler handler);

  /**
   * Builds a model's packed form, which runs whose lease says so will use.
   *
   * @param maximumBytes what it may take
   * @return bytes that it takes
   * @throws io.pipelane.config.StatusException when it cannot be built; nothing is left then
   */
  long pack(ModelVersion version, long maximumBytes);

  /** Drops a packed form that no run uses. */
  void unpack(ModelVersion version);

  /** Forgets a model; nothing of it runs. */
  void discard(ModelVersion version);

  @Override
  void close();
}
