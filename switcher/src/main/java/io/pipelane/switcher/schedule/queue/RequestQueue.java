package io.pipelane.switcher.schedule.queue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.estimate.LaneTimes;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The requests that wait for a lane, bounded by number and bytes, of each model and of all. One
 * queue serves all lanes, so a request never waits behind one lane while another is idle. Requests
 * that may run together are handed out as one. Safe for any thread.
 */
public final class RequestQueue {
  /*
   * One lock guards what waits, who waits for it, the policy, the lines of models and the counts.
   *
   * A model that leaves says so in its line, under the lock. Then what comes later is refused, what
   * waits is withdrawn, and what was taken finds it at its next gate.
   *
   * Policies take no lock: what they ask is under others' locks that wait for this one.
   */
  private final ReentrantLock lock = new ReentrantLock();
  private final SchedulingPolicy policy;
  private final boolean policyHeedsEnds;
  private final Estimates estimates;
  private final BatchGathering gathering;
  private final Takers takers;
  private final AnswerTimes answerTimes;
  private final QueueBounds bounds;
  private final LongSupplier nanoClock;
  private final Map<ModelVersion, ModelLine> lines = new ConcurrentHashMap<>();
  private final WaitingRequests inLine;
  private final QueueCounters counters = new QueueCounters();
  private final Lateness lateness;
  private final ReturnedRequests returned;
  private final RequestsBeforeRuns beforeRuns;

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
    this.bounds = new QueueBounds(maximumRequests, maximumBytes);
    this.nanoClock = nanoClock;
    this.inLine = new WaitingRequests(policy, bounds, counters);
    this.answerTimes = new AnswerTimes(policy, estimates, lanes);
    this.lateness = new Lateness(estimates, answerTimes, counters);
    this.gathering =
        new BatchGathering(
            lock.newCondition(), policy, bounds, new BatchSizing(estimates, lanes), nanoClock);
    this.takers = new Takers(lock, inLine, gathering, nanoClock);
    this.returned = new ReturnedRequests(lock, inLine, takers, counters, this::refuseAll);
    this.beforeRuns =
        new RequestsBeforeRuns(lock, policy, inLine, lateness, this::ended, nanoClock);
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

  /**
   * Refuses the offline requests of a model that wait, and that come from now on; they may be held
   * for as long as online work lasts. Those that run find it at their gates.
   */
  public void leave(ModelVersion model) {
    List<QueuedRequest> refused;
    List<QueuedRequest> claimed;
    lock.lock();
    try {
      ModelLine line = line(model);
      refused = line.leave();
      claimed = inLine.dropLeaving();
      takers.lookAgain(); // They may have been what others waited for.
    } finally {
      lock.unlock();
    }
    for (QueuedRequest request : refused) {
      Lateness.tell(request, () -> request.withdraw(request.line().leaves()));
    }
    ReturnedRequests.endUnwanted(claimed);
  }

  /** Forgets a model's terms. */
  public void forget(ModelVersion model) {
    lines.remove(model);
  }

  ModelLine line(ModelVersion model) {
    @Nullable ModelLine line = lines.get(model);
    return line == null ? lines.computeIfAbsent(model, ModelLine::new) : line;
  }

  /** A request that runs without having been in line. */
  public QueuedRequest past(InferenceRequest request, ResultHandler handler) {
    QueuedRequest past = new QueuedRequest(this, request, handler, nanoClock.getAsLong());
    boolean _ = past.start();
    return past;
  }

  /**
   * Puts a request in line.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when the queue, or that of its model, is
   *     full or closed, or the request's deadline cannot be met behind what goes before it; {@link
   *     Status#TOO_LARGE} when either would be too small for it if it were empty
   */
  public QueuedRequest submit(InferenceRequest request, ResultHandler handler) {
    long now = nanoClock.getAsLong();
    QueuedRequest queued = new QueuedRequest(this, request, handler, now);
    queued.takes(estimates.history().ofComing(queued.key()));
    lateness.requireInTime(queued, now);
    boolean isTimed = answerTimes.isTimed(queued);
    @Nullable LaneTimes runs =
        isTimed || request.deadlineNanos().isPresent() ? answerTimes.underWay(now) : null;
    lock.lock();
    try {
      if (runs != null) {
        lateness.requireInTimeBehind(queued, runs, bounds.leastNanos(), now);
      }
      admit(queued);
      if (runs != null && isTimed) {
        answerTimes.time(queued, runs, bounds.requests(), nanoClock);
      }
      inLine.add(queued);
      takers.oneCame();
      return queued;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Has somebody told of requests that are refused for their deadlines and might have met them with
   * their models' weights on the device; told at once, perhaps with this queue locked.
   */
  public void onWeightsMissed(Consumer<InferenceRequest> listener) {
    lateness.onWeightsMissed(listener);
  }

  /**
   * Says what runs, so that requests are refused which cannot be answered in time behind it.
   *
   * @param underWay how long lanes are taken at least from a time on; asked with no lock held
   * @param preemption whether runs give way to requests where the policy wants that
   */
  public void behind(LongFunction<LaneTimes> underWay, boolean preemption) {
    answerTimes.behind(underWay, preemption);
  }

  private void admit(QueuedRequest request) {
    if (takers.areClosed()) {
      throw StatusException.shuttingDown();
    }
    inLine.admit(request);
  }

  /**
   * Takes what runs next, claimed for running: a request, or several as one; blocks while there is
   * none. Those that cannot be answered in time any more are refused when their turn comes.
   *
   * @return null once the queue is closed and empty
   */
  public @Nullable QueuedRequest take() {
    while (true) {
      List<QueuedRequest> claimed = claim();
      if (claimed.isEmpty()) {
        return null;
      }
      List<QueuedRequest> inTime = lateness.inTime(claimed, nanoClock.getAsLong());
      if (!inTime.isEmpty()) {
        return inTime.size() == 1 ? inTime.getFirst() : joined(inTime);
      }
      ended(claimed.getFirst());
    }
  }

  /** Several as one, or the first of them where there is no memory for all together. */
  private QueuedRequest joined(List<QueuedRequest> members) {
    try {
      QueuedRequest batch = Batch.of(this, members);
      batch.takes(estimates.history().ofComing(batch.key()));
      counters.batch(members.size());
      return batch;
    } catch (OutOfMemoryError e) {
      returned.repeat(members.subList(1, members.size()));
      return members.getFirst();
    }
  }

  private List<QueuedRequest> claim() {
    lock.lock();
    try {
      return takers.awaitNext();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Takes an offline request for the lane that keeps to a share of the device, claimed for running;
   * blocks while there is none, or none may begin there. Belongs to one thread, which comes here
   * again when that one has ended.
   *
   * @param suitable which may be taken
   * @param mayBegin whether one may; asked again after {@link #lookAgainForShare}
   * @return null once the queue is closed
   */
  public @Nullable QueuedRequest takeForShare(
      Predicate<QueuedRequest> suitable, BooleanSupplier mayBegin) {
    while (true) {
      @Nullable QueuedRequest next = claimForShare(suitable, mayBegin);
      if (next == null || !lateness.refuse(next, nanoClock.getAsLong())) {
        return next;
      }
      ended(next);
    }
  }

  private @Nullable QueuedRequest claimForShare(
      Predicate<QueuedRequest> suitable, BooleanSupplier mayBegin) {
    lock.lock();
    try {
      return takers.awaitForShare(suitable, mayBegin);
    } finally {
      lock.unlock();
    }
  }

  /** A run may begin where it could not before. */
  public void lookAgainForShare() {
    lock.lock();
    try {
      takers.lookAgainForShare();
    } finally {
      lock.unlock();
    }
  }

  /** Requests that were taken and have not been answered. */
  public ReturnedRequests returned() {
    return returned;
  }

  /** Says how long it is worth running requests again that failed as a batch. */
  public void repeatWhile(BooleanSupplier useful) {
    returned.repeatWhile(useful);
  }

  /**
   * Has nothing more come in, with a reason; null where all may again. {@link #refuseAll} follows a
   * reason; what has been taken is its taker's.
   */
  public void standStill(@Nullable String reason) {
    lock.lock();
    try {
      inLine.standStill(reason);
    } finally {
      lock.unlock();
    }
  }

  /** Refuses all that waits. */
  public void refuseAll(String reason) {
    List<QueuedRequest> claimed;
    lock.lock();
    try {
      claimed = inLine.dropAgain();
      takers.lookAgain(); // They may have been what others waited for.
    } finally {
      lock.unlock();
    }
    StatusException refusal = StatusException.unavailable(reason);
    claimed.forEach(request -> Lateness.tell(request, () -> request.handler().failed(refusal)));
    List<QueuedRequest> first = first(Integer.MAX_VALUE);
    while (!first.isEmpty()) { // Policies name the first of each kind alone.
      first.forEach(request -> Lateness.tell(request, () -> request.withdraw(refusal)));
      first = first(Integer.MAX_VALUE);
    }
  }

  /** A lane is about to answer what it ran: who comes after that finds it idle. */
  public void answers() {
    gathering.answers();
  }

  /** What was taken has ended. */
  public void ended(QueuedRequest request) {
    if (!policyHeedsEnds) {
      return;
    }
    lock.lock();
    try {
      policy.ended(request.polled(), nanoClock.getAsLong());
      takers.lookAgain(); // What did not fit beside it may fit now.
    } finally {
      lock.unlock();
    }
  }

  /** What goes before runs that have begun. */
  public RequestsBeforeRuns beforeRuns() {
    return beforeRuns;
  }

  /** What kept requests in line may be over: threads that wait for one look again. */
  public void lookAgain() {
    lock.lock();
    try {
      takers.lookAgain();
    } finally {
      lock.unlock();
    }
  }

  /** Whether nothing waits; for any thread, and at once. */
  public boolean isEmpty() {
    return inLine.isEmpty();
  }

  /**
   * Whether a request that ran now would pass nothing that waits, and no rule of its model or of
   * the policy; for any thread, and at once.
   */
  public boolean isClearFor(InferenceRequest request) {
    return isEmpty() && !policyHeedsEnds && !line(request.model()).batching().preserveOrder();
  }

  /** Whether requests of a model wait that another one may run together with. */
  public boolean hasAlike(ModelVersion model) {
    lock.lock();
    try {
      ModelLine line = line(model);
      return line.batching().any() && line.requests() > 0;
    } finally {
      lock.unlock();
    }
  }

  /** A request was withdrawn and waits no longer. */
  void withdrawn(QueuedRequest request) {
    lock.lock();
    try {
      inLine.withdrawn(request);
      if (takers.areClosed() || policyHeedsEnds) {
        takers.lookAgain(); // It may have been what others waited for.
      }
    } finally {
      lock.unlock();
    }
  }

  /** Takes no more requests; those in line still run. */
  public void close() {
    lock.lock();
    try {
      takers.close();
    } finally {
      lock.unlock();
    }
  }

  /** Models of the first requests in line, in the order of their runs. */
  public List<ModelVersion> upcoming(int count) {
    return first(count).stream().map(queued -> queued.request().model()).toList();
  }

  private List<QueuedRequest> first(int count) {
    lock.lock();
    try {
      return policy.first(count, nanoClock.getAsLong());
    } finally {
      lock.unlock();
    }
  }

  /** Whether more requests are in line than threads wait for one. */
  public boolean hasBacklog() {
    lock.lock();
    try {
      return bounds.requests() > takers.idle();
    } finally {
      lock.unlock();
    }
  }

  /** Threads that wait for requests. */
  public int idle() {
    lock.lock();
    try {
      return takers.idle();
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
      Map<ModelVersion, Integer> byModel = new HashMap<>();
      lines.forEach(
          (model, line) -> {
            if (line.requests() > 0) {
              byModel.put(model, line.requests());
            }
          });
      return counters.overview(bounds.requests(), bounds.bytes(), byModel);
    } finally {
      lock.unlock();
    }
  }
}
