package io.pipelane.server.device;

import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.modelstore.importing.ImportTarget;

/**
 * What a server needs to know of the devices it has opened.
 *
 * @param target what models are imported for
 * @param transferMemory where requests and answers lie best; closed with the devices
 */
public record OpenDevices(
    ServingDevices serving, ImportTarget target, TransferMemory transferMemory) {}
