package io.pipelane.switcher;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.Serial;
import org.jspecify.annotations.Nullable;

/**
 * What has led to a refusal that no waiting mends, whatever is asked of the model: it needs more
 * memory than it may ever have. Who would ask it much more may leave that.
 */
public final class NeverFits extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  private NeverFits() {
    super("the model never fits");
  }

  /** The refusal; the message names what it needs, what it may have, and what to do. */
  public static StatusException refusal(String message) {
    return new StatusException(Status.INSUFFICIENT_MEMORY, message, new NeverFits());
  }

  /** Whether this is what has led to an error, in whatever words that says it by now. */
  public static boolean isBehind(@Nullable Throwable error) {
    return error != null && (error instanceof NeverFits || isBehind(error.getCause()));
  }
}
