package io.pipelane.server.jobs;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The specification of a job; it never changes.
 *
 * @param content what tells the model's content from others of the same version; empty where nobody
 *     had said when the job was submitted
 * @param inputFile below the jobs' folder; none for items that came with the request
 * @param inputBytes size of the input file when the job was submitted
 * @param inputModifiedMillis when it was modified last by then, by the clock since 1970
 * @param outputFile below the jobs' folder; there once the job is done
 * @param sizeHint how many items its owner expects
 * @param repeat how often its input is gone through
 * @param group what it belongs to together with others; empty for nothing
 * @param createdMillis by the clock since 1970
 */
public record JobSpec(
    String id,
    ModelVersion model,
    String content,
    Optional<String> inputFile,
    long inputBytes,
    long inputModifiedMillis,
    String outputFile,
    Priority priority,
    OptionalLong sizeHint,
    long repeat,
    String group,
    long createdMillis) {

  /** Whether a content of its version may be the one that was there when it was submitted. */
  boolean mayBeOf(String other) {
    return content.isEmpty() || other.isEmpty() || content.equals(other);
  }

  /**
   * How many items are left to be read: as the job's owner has said, or else as many as lines of
   * the length of those so far.
   *
   * @param read how many there were so far
   * @param position where the next one begins, with all passes before
   */
  long unread(long read, long position) {
    long byHint = sizeHint.orElse(0) - read;
    if (byHint > 0) {
      return byHint;
    }
    double total = (double) inputBytes * repeat;
    return (long) (Math.max(0, total - position) * read / Math.max(1, position));
  }
}
