package io.pipelane.modelstore;

import java.nio.file.Path;
import java.util.List;

/**
 * A model version that import has made servable; all files lie in the cache and are read-only.
 *
 * @param gatedModel the graph with gates, its streamed weights being inputs, or initializers
 *     without content where kernels have repacked them
 * @param weights the streamed weights in execution order, see {@link Plan}
 * @param buckets batches that the model's owner wants it to be captured for, ascending; other
 *     batches are filled up to one of them
 * @param tenant whose model it is; empty for one that is nobody's in particular
 * @param content the hash of the files that its owner has written, the same wherever it is
 *     imported; empty where nobody has said
 */
public record ImportedModel(
    ModelVersion version,
    Plan plan,
    Path gatedModel,
    Path weights,
    List<Integer> buckets,
    String tenant,
    String content) {

  /** The name of the file with what is read in place, beside the other weights. */
  public static final String IN_PLACE = "in-place.bin";

  public ImportedModel {
    buckets = List.copyOf(buckets);
  }

  /** A model whose batches are taken as they come. */
  public ImportedModel(ModelVersion version, Plan plan, Path gatedModel, Path weights) {
    this(version, plan, gatedModel, weights, List.of(), "", "");
  }

  /** The file with the weights that are read in place; it is needed only where there are some. */
  public Path inPlaceWeights() {
    return weights.resolveSibling(IN_PLACE);
  }

  /** The same with batches to capture. */
  public ImportedModel withBuckets(List<Integer> batches) {
    return new ImportedModel(version, plan, gatedModel, weights, batches, tenant, content);
  }

  /** The same with a structure that no other model has. */
  public ImportedModel unshared() {
    String edition = version.edition() == 0 ? "" : "." + version.edition();
    Plan own = plan.withStructure(plan.structureHash() + "." + version + edition);
    return new ImportedModel(version, own, gatedModel, weights, buckets, tenant, content);
  }

  /** The same content under another identity. */
  public ImportedModel as(ModelVersion identity) {
    return new ImportedModel(identity, plan, gatedModel, weights, buckets, tenant, content);
  }

  /** The same with an owner. */
  public ImportedModel ofTenant(String owner) {
    return new ImportedModel(version, plan, gatedModel, weights, buckets, owner, content);
  }

  /** The same with what is known of its owner's files. */
  public ImportedModel ofContent(String hash) {
    return new ImportedModel(version, plan, gatedModel, weights, buckets, tenant, hash);
  }
}
