package io.pipelane.server.device;

import io.pipelane.config.section.DeviceBudget;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.importing.ImportTarget;
import java.util.function.Function;

/**
 * A device that has been opened to serve from.
 *
 * @param target what models are imported for
 * @param sessions builds sessions whose memory is the argument's; loads ONNX Runtime
 */
record ServingDevice(
    ImportTarget target,
    Device device,
    DeviceBudget budget,
    Function<DeviceMemory, SessionFactory> sessions)
    implements AutoCloseable {

  /** One line for people. */
  String description() {
    return device.name() + ": " + budget;
  }

  @Override
  public void close() {
    device.close();
  }
}
