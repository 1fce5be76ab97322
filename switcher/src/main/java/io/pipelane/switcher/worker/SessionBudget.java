package io.pipelane.switcher.worker;

import io.pipelane.modelstore.ImportedModel;

/**
 * How much working memory a structure's sessions take: a bound until one was built, what they
 * really took from then on. Guarded by the pool's lock.
 */
final class SessionBudget {
  /** A session may keep a repacked copy beside a constant, and some workspace. */
  private static final int COPIES = 3;

  private static final long WORKSPACE_BYTES = 4L << 20;

  /** Registered models that share the structure. */
  int variants;

  /** Reserved for the next session to be built, by a thread that could not build it in its lane. */
  long grantedBytes;

  private long expectedBytes;

  SessionBudget(ImportedModel model) {
    expectedBytes = COPIES * model.plan().constantBytes() + WORKSPACE_BYTES;
  }

  long expectedBytes() {
    return expectedBytes;
  }

  /** Notes that a session takes, or needs, so much. */
  void observed(long bytes) {
    expectedBytes = Math.max(expectedBytes, bytes);
  }
}
