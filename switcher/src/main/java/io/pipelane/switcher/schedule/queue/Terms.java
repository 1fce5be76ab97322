package io.pipelane.switcher.schedule.queue;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Limits;

/**
 * The terms on which a model's requests wait.
 *
 * @param weightBytes what its weights take on a device
 */
public record Terms(Limits limits, BatchRules batching, long weightBytes) {
  static final Terms DEFAULT = new Terms(ModelOptions.DEFAULT.limits(), BatchRules.NONE, 0);

  /** As a model's owner wants them, as far as import has found that possible. */
  public static Terms of(ImportedModel model, ModelOptions options) {
    return new Terms(
        options.limits(), BatchRules.of(model, options.batching()), model.plan().weightBytes());
  }

  /** The same, each request alone. */
  public Terms unbatched() {
    return new Terms(limits, batching.alone(), weightBytes);
  }
}
