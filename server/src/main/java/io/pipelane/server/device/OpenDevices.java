package io.pipelane.server.device;

import io.pipelane.runtime.ExecutionProvider;

/**
 * What a server needs to know of the devices it has opened.
 *
 * @param provider what models are imported for
 * @param identity the kind of device that they are imported for; empty on the processor, which
 *     import knows by itself
 */
public record OpenDevices(ServingDevices serving, ExecutionProvider provider, String identity) {}
