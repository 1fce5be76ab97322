package io.pipelane.switcher.schedule;

import io.pipelane.config.ByteSize;
import io.pipelane.config.StatusException;
import java.time.Duration;

/** How much waits, and how much may. Guarded by the queue's lock, but where it says so. */
final class QueueBounds {
  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final int maximumRequests;
  private final long maximumBytes;
  private int requests;
  private volatile boolean isEmpty = true;
  private long bytes;
  private long leastNanos;

  QueueBounds(int maximumRequests, long maximumBytes) {
    this.maximumRequests = maximumRequests;
    this.maximumBytes = maximumBytes;
  }

  /**
   * Lets a request in.
   *
   * @throws StatusException {@link io.pipelane.config.Status#UNAVAILABLE} when there is no room for
   *     it, or none for its model
   */
  void admit(QueuedRequest request) {
    if (requests >= maximumRequests) {
      throw StatusException.unavailable(
          "the queue is full: queue.max-requests is " + maximumRequests, RETRY_AFTER);
    }
    if (bytes + request.inputBytes() > maximumBytes) {
      throw StatusException.unavailable(
          "the queue is full: it holds %s, the request has %s, queue.max-bytes is %s"
              .formatted(
                  new ByteSize(bytes),
                  new ByteSize(request.inputBytes()),
                  new ByteSize(maximumBytes)),
          RETRY_AFTER);
    }
    request.line().admit(request);
    requests++;
    isEmpty = false;
    bytes += request.inputBytes();
    leastNanos += request.leastNanos();
  }

  void left(QueuedRequest request) {
    requests--;
    isEmpty = requests == 0;
    bytes -= request.inputBytes();
    leastNanos -= request.leastNanos();
    request.line().left(request);
  }

  /** Whether nothing waits; for any thread. */
  boolean isEmpty() {
    return isEmpty;
  }

  /** What the runs take at least of all that waits. */
  long leastNanos() {
    return leastNanos;
  }

  int requests() {
    return requests;
  }

  long bytes() {
    return bytes;
  }
}
