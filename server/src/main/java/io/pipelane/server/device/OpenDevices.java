package io.pipelane.server.device;

import io.pipelane.lanes.allocation.TransferMemory;
import java.util.Optional;

/**
 * The devices that a server has opened, and what it needs to know of them.
 *
 * @param targets what models are imported for
 * @param transferMemory where requests and answers lie best; closed with the devices
 * @param calibration measures their link, where that is still to be done; closed before them
 */
public record OpenDevices(
    ServingDevices serving,
    ImportTargets targets,
    TransferMemory transferMemory,
    Optional<IdleCalibration> calibration) {}
