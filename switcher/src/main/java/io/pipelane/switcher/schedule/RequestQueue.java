package io.pipelane.switcher.schedule;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The requests that wait for a lane, bounded by number and bytes, of each model and of all. One
 * queue serves all lanes, so a request never waits behind one lane while another is idle. Requests
 * that may run together are handed out as one. Safe for any thread.
 */
public final class RequestQueue {
  /*
   * One lock guards the policy, the lines of models and the counts. A request that leaves is
   * STARTED under it, so it is handed out once. `again` holds requests whose batch failed: they are
   * claimed already, count no longer, and go first.
   *
   * A request that came while its lane had nothing to do is never held for others. Held are only
   * those that a lane finds when it has ended a run, while no other lane is idle and no other model's
   * requests wait; the thread waits on `gathering` then, and any thread that would idle lets it go.
   */
  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition filled = lock.newCondition();
  private final Condition gathering = lock.newCondition();
  private final SchedulingPolicy policy;
  private final boolean policyHeedsEnds;
  private final Estimates estimates;
  private final BatchSizing sizing;
  private final QueueBounds bounds;
  private final LongSupplier nanoClock;
  private final Map<ModelVersion, ModelLine> lines = new ConcurrentHashMap<>();
  private final Deque<QueuedRequest> again = new ArrayDeque<>();
  private final QueueCounters counters = new QueueCounters();
  private int idle;
  private int holding;
  private boolean closed;

  /**
   * An empty queue.
   *
   * @param estimates tell which requests cannot be answered in time
   * @param lanes how many threads take requests
   * @param nanoClock as the requests' deadlines are
   */
  public RequestQueue(
      SchedulingPolicy policy,
      Estimates estimates,
      int lanes,
      int maximumRequests,
      long maximumBytes,
      LongSupplier nanoClock) {
    this.policy = policy;
    this.policyHeedsEnds = policy.heedsEnds();
    this.estimates = estimates;
    this.sizing = new BatchSizing(estimates, lanes);
    this.bounds = new QueueBounds(maximumRequests, maximumBytes);
    this.nanoClock = nanoClock;
  }

  /** Has a model's requests wait on other terms from now on. */
  public void agree(ModelVersion model, Terms terms) {
    lock.lock();
    try {
      line(model).agreeOn(terms);
    } finally {
      lock.unlock();
    }
  }

  /** Forgets a model's terms. */
  public void forget(ModelVersion model) {
    lines.remove(model);
  }

  ModelLine line(ModelVersion model) {
    @Nullable ModelLine line = lines.get(model);
    return line == null ? lines.computeIfAbsent(model, ModelLine::new) : line;
  }

  /**
   * Puts a request in line.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when the queue, or that of its model, is
   *     full or closed, or the request's deadline cannot be met
   */
  public QueuedRequest submit(InferenceRequest request, ResultHandler handler) {
    long now = nanoClock.getAsLong();
    QueuedRequest queued = new QueuedRequest(this, request, handler, now);
    if (estimates.isTooLate(queued, now)) {
      counters.late();
      throw estimates.tooLate(queued, now);
    }
    lock.lock();
    try {
      admit(queued);
      queued.keepOrder();
      policy.add(queued);
      filled.signal();
      if (holding > 0) {
        gathering.signalAll();
      }
      return queued;
    } finally {
      lock.unlock();
    }
  }

  private void admit(QueuedRequest request) {
    if (closed) {
      throw StatusException.unavailable("the server is shutting down", RETRY_AFTER);
    }
    try {
      bounds.admit(request);
    } catch (StatusException e) {
      counters.full();
      throw e;
    }
  }

  /**
   * Takes what runs next, claimed for running: a request, or several as one; blocks while there is
   * none. Those that cannot be answered in time any more are refused when their turn comes.
   *
   * @return null once the queue is closed and empty
   */
  @Nullable QueuedRequest take() {
    while (true) {
      List<QueuedRequest> claimed = claim();
      if (claimed.isEmpty()) {
        return null;
      }
      List<QueuedRequest> inTime = new ArrayList<>(claimed.size());
      long now = nanoClock.getAsLong();
      for (QueuedRequest request : claimed) {
        if (!refuseIfLate(request, now)) {
          inTime.add(request);
        }
      }
      if (!inTime.isEmpty()) {
        return inTime.size() == 1 ? inTime.getFirst() : joined(inTime);
      }
      ended(claimed.getFirst());
    }
  }

  private boolean refuseIfLate(QueuedRequest request, long now) {
    if (!estimates.isTooLate(request, now)) {
      return false;
    }
    counters.late();
    request.handler().failed(estimates.tooLate(request, now));
    return true;
  }

  /** Several as one, or the first of them where there is no memory for all together. */
  private QueuedRequest joined(List<QueuedRequest> members) {
    try {
      QueuedRequest batch = Batch.of(this, members);
      counters.batch(members.size());
      return batch;
    } catch (OutOfMemoryError e) {
      again(members.subList(1, members.size()));
      return members.getFirst();
    }
  }

  private List<QueuedRequest> claim() {
    boolean hasIdled = false;
    lock.lock();
    try {
      while (true) {
        if (!again.isEmpty()) {
          return List.of(again.removeFirst());
        }
        long now = nanoClock.getAsLong();
        QueuedRequest next = policy.poll(now);
        if (next == null) {
          if (closed && bounds.requests() == 0) {
            return List.of();
          }
          if (holding > 0) {
            gathering.signalAll();
          }
          hasIdled = true;
          idle++;
          filled.awaitUninterruptibly();
          idle--;
        } else if (next.start()) {
          bounds.left(next);
          return withOthers(next, hasIdled);
        } else {
          policy.ended(next, now);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** A request and those that run with it, the first to be polled first. */
  private List<QueuedRequest> withOthers(QueuedRequest first, boolean hasIdled) {
    BatchRules rules = first.line().batching();
    boolean mayHold = rules.maxDelayNanos() > 0 && !hasIdled;
    if (!rules.any() || idle > 0 || (first.line().requests() == 0 && !mayHold)) {
      return List.of(first);
    }
    List<QueuedRequest> members = new ArrayList<>(List.of(first));
    int most = 2 * rules.sizes().getLast();
    gather(members, most);
    if (mayHold) {
      hold(members, most, first.submittedNanos() + rules.maxDelayNanos());
    }
    return members;
  }

  /** Adds those that wait and are worth running with the others; looks at so many at most. */
  private void gather(List<QueuedRequest> members, int most) {
    QueuedRequest first = members.getFirst();
    if (first.line().requests() == 0) {
      return;
    }
    List<QueuedRequest> alike = new ArrayList<>(members.subList(1, members.size()));
    alike.addAll(policy.alike(first, most));
    int count = sizing.choose(first, alike, nanoClock.getAsLong());
    for (int i = members.size() - 1; i < alike.size() && members.size() < count; i++) {
      QueuedRequest other = alike.get(i);
      if (other.start()) {
        policy.remove(other);
        bounds.left(other);
        other.joins(first);
        members.add(other);
      }
    }
  }

  /** Waits for more, while nothing is lost by that. */
  private void hold(List<QueuedRequest> members, int most, long untilNanos) {
    ModelLine line = members.getFirst().line();
    int target = sizing.target(members.getFirst(), nanoClock.getAsLong());
    long left = untilNanos - nanoClock.getAsLong();
    while (members.size() < target
        && left > 0
        && idle == 0
        && !closed
        && bounds.requests() == line.requests()) {
      holding++;
      try {
        gathering.awaitNanos(left);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      } finally {
        holding--;
      }
      gather(members, most);
      left = untilNanos - nanoClock.getAsLong();
    }
  }

  /** What was taken has ended. */
  void ended(QueuedRequest request) {
    if (!policyHeedsEnds) {
      return;
    }
    lock.lock();
    try {
      policy.ended(request.polled(), nanoClock.getAsLong());
      filled.signalAll(); // What did not fit beside it may fit now.
    } finally {
      lock.unlock();
    }
  }

  /** Requests that failed as a batch run before all others, each alone. */
  void again(List<QueuedRequest> claimed) {
    lock.lock();
    try {
      again.addAll(claimed);
      counters.batchFailed();
      filled.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** A request was withdrawn and waits no longer. */
  void withdrawn(QueuedRequest request) {
    lock.lock();
    try {
      policy.remove(request);
      bounds.left(request);
      if (closed || policyHeedsEnds) {
        filled.signalAll(); // It may have been what others waited for.
      }
    } finally {
      lock.unlock();
    }
  }

  /** Takes no more requests; those in line still run. */
  public void close() {
    lock.lock();
    try {
      closed = true;
      filled.signalAll();
      gathering.signalAll();
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

  /** Threads that wait for requests. */
  int idle() {
    lock.lock();
    try {
      return idle;
    } finally {
      lock.unlock();
    }
  }

  /** Requests in line. */
  public int waiting() {
    lock.lock();
    try {
      return bounds.requests();
    } finally {
      lock.unlock();
    }
  }

  /** What waits, and what has become of requests before they ran. */
  public QueueOverview overview() {
    lock.lock();
    try {
      return counters.overview(bounds.requests(), bounds.bytes());
    } finally {
      lock.unlock();
    }
  }
}
