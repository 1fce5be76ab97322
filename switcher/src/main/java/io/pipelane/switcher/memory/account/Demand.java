package io.pipelane.switcher.memory.account;

import io.pipelane.modelstore.ImportedModel;

/**
 * The demand for a model that is not all on a device.
 *
 * @param perSecond online requests a second, lately
 */
public record Demand(ImportedModel model, double perSecond) {}
