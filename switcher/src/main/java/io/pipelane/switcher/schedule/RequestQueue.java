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
  private final int maximumRequests;
  private final long maximumBytes;
  private final LongSupplier nanoClock;
  private int requests;
  private long bytes;
  private boolean closed;

  public RequestQueue(
      SchedulingPolicy policy, int maximumRequests, long maximumBytes, LongSupplier nanoClock) {
    this.policy = policy;
    this.maximumRequests = maximumRequests;
    this.maximumBytes = maximumBytes;
    this.nanoClock = nanoClock;
  }

  /**
   * Puts a request in line.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when the queue is full or closed
   */
  public QueuedRequest submit(InferenceRequest request, ResultHandler handler) {
    QueuedRequest queued = new QueuedRequest(this, request, handler, nanoClock.getAsLong());
    lock.lock();
    try {
      admit(queued);
      requests++;
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
   * Takes the request that runs next, claimed for running; blocks while there is none.
   *
   * @return null once the queue is closed and empty
   */
  @Nullable QueuedRequest take() {
    lock.lock();
    try {
      while (true) {
        QueuedRequest next = policy.poll();
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
      return policy.first(count).stream().map(queued -> queued.request().model()).toList();
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
