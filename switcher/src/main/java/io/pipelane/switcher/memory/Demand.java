package io.pipelane.switcher.memory;

import io.pipelane.modelstore.ImportedModel;

/**
 * How much a model that is not all on a device is asked for.
 *
 * @param perSecond online requests a second, lately
 */
public record Demand(ImportedModel model, double perSecond) {}
