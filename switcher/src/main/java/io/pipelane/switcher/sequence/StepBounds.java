package io.pipelane.switcher.sequence;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;

/**
 * The bounds on steps that wait for those before them in their sequences, and on the bytes of their
 * inputs: as many may wait as requests in the queue, offline ones half of that. Safe for any
 * thread.
 */
public final class StepBounds {
  private static final int OFFLINE_PART = 2;

  private final int mostSteps;
  private final long mostBytes;
  private final Part all = new Part();
  private final Part offline = new Part();

  /** What waits; guarded by the monitor. */
  private static final class Part {
    int steps;
    long bytes;

    void change(int more, long moreBytes) {
      steps += more;
      bytes += moreBytes;
    }
  }

  /** Nothing waits. */
  public StepBounds(int mostSteps, long mostBytes) {
    this.mostSteps = mostSteps;
    this.mostBytes = mostBytes;
  }

  /** Bounds as wide, within which nothing waits. */
  public StepBounds another() {
    return new StepBounds(mostSteps, mostBytes);
  }

  /**
   * A step waits from now on.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} where there is no room, {@link
   *     Status#TOO_LARGE} where there never is
   */
  public synchronized void enter(InferenceRequest step) {
    long bytes = step.inputBytes();
    if (bytes > mostBytes) {
      throw new StatusException(
          Status.TOO_LARGE,
          "the step has %s, queue.max-bytes is %s"
              .formatted(new ByteSize(bytes), new ByteSize(mostBytes)));
    }
    requireRoom(all, bytes, 1, "");
    if (isOffline(step)) {
      requireRoom(offline, bytes, OFFLINE_PART, ", of which offline ones may have half");
      offline.change(1, bytes);
    }
    all.change(1, bytes);
  }

  /** One that is offline may have more than its half. */
  private void requireRoom(Part part, long bytes, int divisor, String share) {
    boolean isFull = part.steps >= mostSteps / divisor || part.bytes + bytes > mostBytes / divisor;
    if (part.steps > 0 && isFull) {
      throw StatusException.unavailable(
          "%d steps with %s wait for those before them: queue.max-requests is %d, queue.max-bytes is %s%s"
              .formatted(
                  part.steps, new ByteSize(part.bytes), mostSteps, new ByteSize(mostBytes), share));
    }
  }

  /** It waits no longer. */
  public synchronized void leave(InferenceRequest step) {
    long bytes = step.inputBytes();
    all.change(-1, -bytes);
    if (isOffline(step)) {
      offline.change(-1, -bytes);
    }
  }

  private static boolean isOffline(InferenceRequest step) {
    return step.priority() == Priority.OFFLINE;
  }
}
