package io.pipelane.server.device;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.importing.ImportTarget;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * The target that models are imported for: the first device that is not lost, as what one makes
 * serves all. Safe for any thread.
 */
public final class ImportTargets implements Supplier<ImportTarget> {
  private final List<Of> devices;

  /**
   * A device's own.
   *
   * @param isUsable false once it is lost
   */
  record Of(ImportTarget target, BooleanSupplier isUsable) {}

  /**
   * Devices of one kind.
   *
   * @param devices one at least
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when they are of several kinds
   */
  ImportTargets(List<Of> devices) {
    this.devices = List.copyOf(devices);
    ImportTarget first = devices.getFirst().target;
    for (Of device : devices) {
      String identity = device.target.deviceIdentity();
      if (!identity.equals(first.deviceIdentity())) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "device.kind names GPUs of different kinds, %s and %s; start a server for each kind"
                .formatted(first.deviceIdentity(), identity));
      }
    }
  }

  /** That of an import that begins now; of the first device where all are lost. */
  @Override
  public ImportTarget get() {
    return devices.stream()
        .filter(device -> device.isUsable.getAsBoolean())
        .findFirst()
        .orElse(devices.getFirst())
        .target;
  }
}
