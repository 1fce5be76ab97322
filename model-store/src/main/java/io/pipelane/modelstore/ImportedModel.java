package io.pipelane.modelstore;

import java.nio.file.Path;

/**
 * A model version that import has made servable; all files lie in the cache and are read-only.
 *
 * @param gatedModel the graph with gates, its streamed weights being inputs, or initializers
 *     without content where kernels have repacked them
 * @param weights the streamed weights in execution order, see {@link Plan}
 */
public record ImportedModel(ModelVersion version, Plan plan, Path gatedModel, Path weights) {}
