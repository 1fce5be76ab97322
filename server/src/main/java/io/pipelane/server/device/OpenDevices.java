package io.pipelane.server.device;

import io.pipelane.modelstore.importing.ImportTarget;

/**
 * What a server needs to know of the devices it has opened.
 *
 * @param target what models are imported for
 */
public record OpenDevices(ServingDevices serving, ImportTarget target) {}
