package io.pipelane.switcher;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import java.io.Serial;

/**
 * What has led to a refusal of a sequence's step: another version of the model, in service too, has
 * the sequence. Who has not asked for one version may ask that.
 */
public final class KeptByAnotherVersion extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  private final long version;

  private KeptByAnotherVersion(ModelVersion keeper) {
    super("the sequence is one of " + keeper);
    this.version = keeper.version();
  }

  /** The refusal by a version that was asked. */
  public static StatusException refusal(ModelVersion asked, ModelVersion keeper) {
    KeptByAnotherVersion cause = new KeptByAnotherVersion(keeper);
    return new StatusException(
        Status.INVALID_ARGUMENT,
        "%s, not of %s: name that version, or begin anew with sequence_start"
            .formatted(cause.getMessage(), asked),
        cause);
  }

  /** The version that has the sequence. */
  public long version() {
    return version;
  }
}
