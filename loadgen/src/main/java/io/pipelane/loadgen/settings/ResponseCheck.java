package io.pipelane.loadgen.settings;

import java.util.Optional;

/**
 * A check of every answer; a complaint counts as an error. Called on the thread that generates the
 * load, so what it costs is missing there.
 */
@FunctionalInterface
public interface ResponseCheck {
  /** Accepts everything; bodies of successful answers are then skipped unread. */
  ResponseCheck NONE = response -> Optional.empty();

  /**
   * Looks at an answer, of any status; warm-up included.
   *
   * @return what is wrong with it
   */
  Optional<String> complaint(Response response);
}
