package io.pipelane.switcher.schedule.queue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.repository.ModelOptions.Priority;

/**
 * The number of requests that wait somewhere, and the bytes of their inputs. Offline ones may take
 * half of either bound, so that they never keep online ones out. Guarded by the queue's lock.
 */
final class Occupancy {
  /** One of so many places may be an offline request's. */
  private static final int OFFLINE_PART = 2;

  private final String where;
  private final Part all = new Part("");
  private final Part offline = new Part(", of which offline requests may have half");

  /**
   * The bounds on what may wait, and how an owner calls them.
   *
   * @param requestsKey the setting that bounds the number
   * @param bytesKey the one that bounds the bytes
   */
  record Bounds(long requests, String requestsKey, long bytes, String bytesKey) {
    /** Half of both, but one request at least. */
    private Bounds ofOffline() {
      return new Bounds(
          Math.max(1, requests / OFFLINE_PART), requestsKey, bytes / OFFLINE_PART, bytesKey);
    }
  }

  /**
   * Nothing waits.
   *
   * @param where as a refusal is to name it
   */
  Occupancy(String where) {
    this.where = where;
  }

  /**
   * Makes sure that there is room for a request, which {@link #entered} takes.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when there is none, {@link Status#TOO_LARGE}
   *     when there would be none if nothing else waited
   */
  void requireRoom(QueuedRequest request, Bounds bounds) {
    if (request.inputBytes() > bounds.bytes) {
      throw new StatusException(
          Status.TOO_LARGE,
          "the inputs of this request for %s have %s, %s is %s"
              .formatted(
                  request.key().model(),
                  new ByteSize(request.inputBytes()),
                  bounds.bytesKey,
                  new ByteSize(bounds.bytes)));
    }
    all.requireRoom(request, bounds, bounds);
    if (isOffline(request) && offline.requests > 0) { // One may have more than half.
      offline.requireRoom(request, bounds.ofOffline(), bounds);
    }
  }

  void entered(QueuedRequest request) {
    all.entered(request);
    if (isOffline(request)) {
      offline.entered(request);
    }
  }

  void left(QueuedRequest request) {
    all.left(request);
    if (isOffline(request)) {
      offline.left(request);
    }
  }

  private static boolean isOffline(QueuedRequest request) {
    return request.request().priority() == Priority.OFFLINE;
  }

  int requests() {
    return all.requests;
  }

  long bytes() {
    return all.bytes;
  }

  /** The waiting requests of all classes, or of one. */
  private final class Part {
    private final String share;
    private int requests;
    private long bytes;

    Part(String share) {
      this.share = share;
    }

    void requireRoom(QueuedRequest request, Bounds most, Bounds named) {
      if (requests >= most.requests) {
        throw full("%s is %d%s".formatted(named.requestsKey, named.requests, share));
      }
      if (bytes + request.inputBytes() > most.bytes) {
        throw full(
            "it holds %s, the request has %s, %s is %s%s"
                .formatted(
                    new ByteSize(bytes),
                    new ByteSize(request.inputBytes()),
                    named.bytesKey,
                    new ByteSize(named.bytes),
                    share));
      }
    }

    private StatusException full(String reason) {
      return StatusException.unavailable("%s is full: %s".formatted(where, reason));
    }

    void entered(QueuedRequest request) {
      requests++;
      bytes += request.inputBytes();
    }

    void left(QueuedRequest request) {
      requests--;
      bytes -= request.inputBytes();
    }
  }
}
