package io.pipelane.switcher.schedule;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The requests that wait for a lane, bounded by number and bytes. One queue serves all lanes, so a
 * request never waits behind one lane while another is idle. Safe for any thread.
 */
public final class RequestQueue {
  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition filled = lock.newCondition();
  private final SchedulingPolicy policy;
  private final Estimates estimates;
  private final int maximumRequests;
  private final long maximumBytes;
  private final LongSupplier nanoClock;
  private int requests;
  private volatile boolean isEmpty = true;
  private long bytes;
  private boolean closed;

  /**
   * An empty queue.
   *
   * @param estimates tell which requests cannot be answered in time
   * @param nanoClock as the requests' deadlines are
   */
  public RequestQueue(
      SchedulingPolicy policy,
      Estimates estimates,
      int maximumRequests,
      long maximumBytes,
      LongSupplier nanoClock) {
    this.policy = policy;
    this.estimates = estimates;
    this.maximumRequests = maximumRequests;
    this.maximumBytes = maximumBytes;
    this.nanoClock = nanoClock;
  }

  /**
   * Puts a request in line.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when the queue is full or closed, or the
   *     request's deadline cannot be met
   */
  public QueuedRequest submit(InferenceRequest request, ResultHandler handler) {
    long now = nanoClock.getAsLong();
    QueuedRequest queued = new QueuedRequest(this, request, handler, now);
    if (estimates.isTooLate(queued, now)) {
      throw estimates.tooLate(queued, now);
    }
    lock.lock();
    try {
      admit(queued);
      requests++;
      isEmpty = false;
      bytes += queued.inputBytes();
      policy.add(queued);
      filled.signal();
      return queued;
    } finally {
      lock.unlock();
    }
  }

  private void admit(QueuedRequest request) {
    if (closed) {
      throw StatusException.unavailable("the server is shutting down", RETRY_AFTER);
    }
    if (requests >= maximumRequests) {
      throw StatusException.unavailable(
          "the queue is full: queue.max-requests is " + maximumRequests, RETRY_AFTER);
    }
    if (bytes + request.inputBytes() > maximumBytes) {
      throw StatusException.unavailable(
          "the queue is full: it holds "
              + new ByteSize(bytes)
              + ", the request has "
              + new ByteSize(request.inputBytes())
              + ", queue.max-bytes is "
              + new ByteSize(maximumBytes),
          RETRY_AFTER);
    }
  }

  /**
   * Takes the request that runs next, claimed for running; blocks while there is none. Those that
   * cannot be answered in time any more are refused when their turn comes.
   *
   * @return null once the queue is closed and empty
   */
  @Nullable QueuedRequest take() {
    while (true) {
      @Nullable QueuedRequest next = claim();
      long now = nanoClock.getAsLong();
      if (next == null || !estimates.isTooLate(next, now)) {
        return next;
      }
      next.handler().failed(estimates.tooLate(next, now));
    }
  }

  private @Nullable QueuedRequest claim() {
    lock.lock();
    try {
      while (true) {
        QueuedRequest next = policy.poll(nanoClock.getAsLong());
        if (next == null) {
          if (closed) {
            return null;
          }
          filled.awaitUninterruptibly();
        } else if (next.start()) {
          left(next);
          return next;
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * The request for which a run gives way, if there is one; it stays in line.
   *
   * @param remainingNanos what the run still needs
   */
  @Nullable QueuedRequest before(QueuedRequest run, long remainingNanos) {
    lock.lock();
    try {
      return policy.interrupting(run, remainingNanos, nanoClock.getAsLong());
    } finally {
      lock.unlock();
    }
  }

  /** Takes it, claimed for running; null when there is none. */
  @Nullable QueuedRequest takeBefore(QueuedRequest run, long remainingNanos) {
    while (true) {
      @Nullable QueuedRequest next = claimBefore(run, remainingNanos);
      long now = nanoClock.getAsLong();
      if (next == null || !estimates.isTooLate(next, now)) {
        return next;
      }
      next.handler().failed(estimates.tooLate(next, now));
    }
  }

  private @Nullable QueuedRequest claimBefore(QueuedRequest run, long remainingNanos) {
    lock.lock();
    try {
      @Nullable QueuedRequest next =
          policy.interrupting(run, remainingNanos, nanoClock.getAsLong());
      while (next != null) {
        policy.remove(next);
        if (next.start()) {
          left(next);
          return next;
        }
        next = policy.interrupting(run, remainingNanos, nanoClock.getAsLong());
      }
      return null;
    } finally {
      lock.unlock();
    }
  }

  /** Whether nothing waits; for any thread, and at once. */
  boolean isEmpty() {
    return isEmpty;
  }

  /** A request was withdrawn and waits no longer. */
  void withdrawn(QueuedRequest request) {
    lock.lock();
    try {
      policy.remove(request);
      left(request);
    } finally {
      lock.unlock();
    }
  }

  private void left(QueuedRequest request) {
    requests--;
    isEmpty = requests == 0;
    bytes -= request.inputBytes();
  }

  /** Takes no more requests; those in line still run. */
  public void close() {
    lock.lock();
    try {
      closed = true;
      filled.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Models of the first requests in line, in the order of their runs. */
  public List<ModelVersion> upcoming(int count) {
    lock.lock();
    try {
      return policy.first(count, nanoClock.getAsLong()).stream()
          .map(queued -> queued.request().model())
          .toList();
    } finally {
      lock.unlock();
    }
  }

  /** Requests in line. */
  public int waiting() {
    lock.lock();
    try {
      return requests;
    } finally {
      lock.unlock();
    }
  }
}
