package io.pipelane.switcher.schedule.queue;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.repository.BatchingOptions;
import io.pipelane.runtime.TensorType;
import java.util.List;

/**
 * The rules by which requests of a model may run together.
 *
 * @param sizes rows that batches may have, ascending, none below 2; empty lets nothing run together
 * @param maxDelayNanos how long a request may be held for others while every lane is busy
 * @param preserveOrder whether answers come in the order of requests
 */
public record BatchRules(List<Integer> sizes, long maxDelayNanos, boolean preserveOrder) {
  static final BatchRules NONE = new BatchRules(List.of(), 0, false);

  private static final List<Integer> USUAL_SIZES = List.of(2, 4, 8);

  public BatchRules {
    sizes = List.copyOf(sizes);
  }

  /** What the owner wants where import has found that answers stay as they are. */
  static BatchRules of(ImportedModel model, BatchingOptions options) {
    Plan plan = model.plan();
    boolean allowed =
        switch (options.mode()) {
          case AUTO -> plan.batching().agrees();
          case ALWAYS -> plan.batching().possible();
          case NEVER -> false;
        };
    boolean strings =
        plan.inputs().stream().anyMatch(spec -> spec.type() == TensorType.BYTES)
            || plan.outputs().stream().anyMatch(spec -> spec.type() == TensorType.BYTES);
    List<Integer> sizes = allowed && !strings ? sizes(model, options) : List.of();
    return new BatchRules(sizes, options.maxQueueDelay().toNanos(), options.preserveOrder());
  }

  private static List<Integer> sizes(ImportedModel model, BatchingOptions options) {
    List<Integer> wanted =
        options.preferredSizes().isEmpty() ? model.buckets() : options.preferredSizes();
    List<Integer> sizes = wanted.isEmpty() ? USUAL_SIZES : wanted;
    int most = options.maxRows().orElse(Integer.MAX_VALUE);
    return sizes.stream().filter(size -> size > 1 && size <= most).toList();
  }

  /** The same order, with nothing running together. */
  BatchRules alone() {
    return new BatchRules(List.of(), 0, preserveOrder);
  }

  boolean any() {
    return !sizes.isEmpty();
  }
}
