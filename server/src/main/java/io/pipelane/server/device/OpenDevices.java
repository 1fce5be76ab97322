package io.pipelane.server.device;

import io.pipelane.lanes.allocation.TransferMemory;
import java.util.Optional;

/**
 * What a server needs to know of the devices it has opened.
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
