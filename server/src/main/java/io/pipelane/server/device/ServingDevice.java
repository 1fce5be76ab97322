package io.pipelane.server.device;

import io.pipelane.config.DeviceBudget;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.runtime.ExecutionProvider;
import java.util.function.Function;

/**
 * A device that has been opened to serve from.
 *
 * @param name what people call it, e.g. {@code cuda:0 NVIDIA H200}
 * @param identity what graphs are optimised for: the same on equal devices
 * @param provider what imported graphs are made for
 * @param sessions builds sessions whose memory is the argument's; loads ONNX Runtime
 * @param packs whether hot models gain by a second form
 */
record ServingDevice(
    String name,
    String identity,
    ExecutionProvider provider,
    Device device,
    DeviceBudget budget,
    Function<DeviceMemory, SessionFactory> sessions,
    boolean packs)
    implements AutoCloseable {

  /** One line for people. */
  String description() {
    return name + ": " + budget;
  }

  @Override
  public void close() {
    device.close();
  }
}
