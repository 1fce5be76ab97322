package io.pipelane.switcher.worker;

import io.pipelane.modelstore.ImportedModel;
import java.time.Duration;

/**
 * The working memory that building a session of a structure may take: a bound, or what sessions
 * took where that was more. Safe for any thread.
 *
 * <p>It is never less than the bound, though a session that is built may hold less. Building one
 * may take more for a while, a constant beside its repacked copy, and fails where less is reserved.
 *
 * <p>When building one needed more than was expected, twice as much is tried at once. That may be
 * for want of the device's memory, which passes; so it is believed for a while only, and what is
 * known counts again then.
 */
final class SessionBudget {
  /** A session may keep a repacked copy beside a constant, and some workspace. */
  private static final int COPIES = 3;

  private static final long WORKSPACE_BYTES = 4L << 20;

  /** How long a structure that cannot be built is refused without trying it. */
  private static final long BELIEVED_NANOS = Duration.ofSeconds(10).toNanos();

  /** Registered models that share the structure; guarded by the table's lock. */
  int variants;

  private long grantedBytes;
  private long buildNanos;

  /** The bound, or what sessions took at most where that was more. */
  private long knownBytes;

  private long guessedBytes;
  private long guessedNanos;

  SessionBudget(ImportedModel model) {
    knownBytes = COPIES * model.plan().constantBytes() + WORKSPACE_BYTES;
  }

  synchronized long expectedBytes(long nowNanos) {
    if (guessedBytes > 0 && nowNanos - guessedNanos >= BELIEVED_NANOS) {
      guessedBytes = 0;
    }
    return Math.max(knownBytes, guessedBytes);
  }

  /** Notes that a session was built, in so long, and takes so much. */
  synchronized void built(long bytes, long nanos) {
    observed(bytes);
    buildNanos = nanos;
  }

  /** What building one took lately; 0 before the first. */
  synchronized long buildNanos() {
    return buildNanos;
  }

  /**
   * Keeps room for the next session to be built, reserved already by a thread that could not build
   * it in its lane.
   */
  synchronized void grant(long bytes) {
    grantedBytes = bytes;
  }

  /** Takes the room that was granted; 0 when there is none. */
  synchronized long takeGrant() {
    long bytes = grantedBytes;
    grantedBytes = 0;
    return bytes;
  }

  /** Notes that a session takes so much. */
  synchronized void observed(long bytes) {
    knownBytes = Math.max(knownBytes, bytes);
  }

  /** Notes that a session could not be built with less, and may need so much. */
  synchronized void guessed(long bytes, long nowNanos) {
    guessedBytes = bytes;
    guessedNanos = nowNanos;
  }
}
