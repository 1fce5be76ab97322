package io.pipelane.switcher;

import java.util.OptionalLong;

/**
 * When nobody waits for an answer any more, and whose time that is.
 *
 * @param nanos by {@link System#nanoTime}; none where somebody waits for as long as it takes
 * @param isObjective whether it is what the model's owner wants, by which devices are judged; a
 *     caller's own time is not
 */
public record Deadline(OptionalLong nanos, boolean isObjective) {
  /** Somebody waits for as long as it takes. */
  public static final Deadline NONE = new Deadline(OptionalLong.empty(), false);

  public Deadline {
    if (isObjective && nanos.isEmpty()) {
      throw new IllegalArgumentException("an objective is a time");
    }
  }

  /** The same time, so much sooner. */
  Deadline sooner(long byNanos) {
    return nanos.isEmpty()
        ? this
        : new Deadline(OptionalLong.of(nanos.getAsLong() - byNanos), isObjective);
  }
}
