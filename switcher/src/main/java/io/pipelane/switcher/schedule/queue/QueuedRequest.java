package io.pipelane.switcher.schedule.queue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.PlacedOnce;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.schedule.estimate.PastRuns;
import io.pipelane.switcher.schedule.estimate.RunKey;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A request on its way through the queue, or several that run as one. Safe for any thread. */
public final class QueuedRequest implements Ticket {
  /*
   * A run that makes way ends as one does that nobody wants, but its caller is told nothing: it
   * begins anew.
   *
   * `handler`, `whenFailed`, `polled` and the times are written before others see the request, or
   * under the queue's lock.
   */

  /** How many requests are looked at to find some that are alike. */
  private static final int LOOKED_AT = 512;

  private final AtomicReference<State> state = new AtomicReference<>(State.QUEUED);
  private final RequestQueue queue;
  private final ModelLine line;
  private final InferenceRequest request;
  private final RunKey key;
  private final boolean runsAlone;
  private final long inputBytes;
  private final long submittedNanos;
  private ResultHandler handler;
  private Runnable whenFailed = () -> {};
  private long leastNanos;
  private long usualNanos;
  private QueuedRequest polled = this;
  private volatile @Nullable StatusException withdrawal;
  private volatile Runnable whenUnwanted = () -> {};
  private long neededOfLane; // Of the thread that runs it, as the next.
  private boolean hasHadItsTurn; // The same.
  private OptionalLong servedNanos = OptionalLong.empty();
  private volatile boolean makesWay;
  private volatile boolean leavesShare;
  private final AtomicInteger endings = new AtomicInteger();

  /**
   * A request that is in no line yet.
   *
   * @param queue told when it is withdrawn
   * @param handler told its end
   * @param submittedNanos when it came, by the queue's clock
   */
  public QueuedRequest(
      RequestQueue queue, InferenceRequest request, ResultHandler handler, long submittedNanos) {
    this.queue = queue;
    this.line = queue.line(request.model());
    this.request = request;
    this.key = RunKey.of(request);
    this.runsAlone = request.isOnDevice() || request.place().lane().isPresent();
    this.handler = new PlacedOnce(handler);
    this.inputBytes = request.inputBytes();
    this.submittedNanos = submittedNanos;
  }

  private enum State {
    QUEUED,
    STARTED,
    WITHDRAWN
  }

  public InferenceRequest request() {
    return request;
  }

  /** What runs like this one are known by. */
  public RunKey key() {
    return key;
  }

  /** Asks for the place of each output once, however often and wherever the request is run. */
  public ResultHandler handler() {
    return handler;
  }

  /** Notes what runs like its own are known to take. */
  void takes(PastRuns known) {
    leastNanos = known.leastNanos(submittedNanos);
    usualNanos = known.usualNanos();
  }

  /** What its run takes at least, as was known when it came; 0 where that was nothing. */
  public long leastNanos() {
    return leastNanos;
  }

  /** What its run usually takes, as was known when it came; 0 where that was nothing. */
  public long usualNanos() {
    return usualNanos;
  }

  /** What is left of its job behind it, which has no end before; 0 for a request by itself. */
  public long behindNanos() {
    return request.job().map(job -> job.behindNanos(usualNanos)).orElse(0L);
  }

  /** Whose use its run is: its job's, or else its model's. */
  public Object owner() {
    return request.job().isPresent() ? request.job().get() : request.model();
  }

  /**
   * Since when it counts as waiting where the order is that of coming: what offline jobs have to do
   * came with them.
   */
  public long cameNanos() {
    return request.priority() == Priority.OFFLINE && request.job().isPresent()
        ? request.job().get().cameNanos()
        : submittedNanos;
  }

  /** How many requests its run may answer. */
  int mostTogether() {
    BatchRules rules = line.batching();
    long rows = rules.any() && !runsAlone ? key.rows() : 0;
    return rows == 0 ? 1 : (int) Math.max(1, rules.sizes().getLast() / rows);
  }

  /** Has its end be noted, if it ends well, before its caller is told. */
  void whenAnswered(Runnable answered) {
    handler = new TimedAnswer(handler, answered);
  }

  /** What waits of its model. */
  ModelLine line() {
    return line;
  }

  /** Bytes of its model's weights on a device. */
  public long weightBytes() {
    return line.weightBytes();
  }

  long inputBytes() {
    return inputBytes;
  }

  public long submittedNanos() {
    return submittedNanos;
  }

  /**
   * Has its end be told behind those of its model and class that came before, where the owner wants
   * that.
   */
  void keepOrder() {
    if (line.batching().preserveOrder()) {
      handler = line.answers(request.priority()).inOrder(handler);
    }
  }

  /** Has somebody told whose lane has given it back when it fails in another one, too. */
  public void whenFailed(Runnable told) {
    whenFailed = told;
  }

  /**
   * Has somebody told, on any thread and under no lock of the queue's, when nobody wants its run
   * any more; whoever makes the run asks {@link #requireWanted} after that.
   */
  public void whenUnwanted(Runnable told) {
    whenUnwanted = told;
  }

  /**
   * Whether nobody wants its run: its caller has gone, or its model goes and it is offline, or it
   * makes way.
   */
  public boolean isUnwanted() {
    return withdrawal != null || makesWay || isLeaving();
  }

  /** Why its run is to end wherever it is; null while its caller is there and it makes no way. */
  public @Nullable StatusException withdrawal() {
    @Nullable StatusException gone = withdrawal;
    return gone == null && makesWay ? madeWay() : gone;
  }

  /** Has its run end at its next gate, to begin anew: others wait for what it holds. */
  public void makeWay() {
    if (!makesWay) {
      endings.incrementAndGet();
      makesWay = true;
      whenUnwanted.run();
    }
  }

  /** Whether its run has ended, or is to end, to begin anew. */
  public boolean makesWay() {
    return makesWay;
  }

  /** How often its run has made way. */
  public int endings() {
    return endings.get();
  }

  /** Its run is over, and another one is to come; what it was told to do before is no more. */
  public void beginsAnew() {
    makesWay = false;
  }

  private static StatusException madeWay() {
    return StatusException.unavailable(
        "a run made way to one that goes before it and needed its memory");
  }

  /** Whether it is offline work of a model that leaves service. */
  public boolean isLeaving() {
    return line.isLeaving() && request.priority() == Priority.OFFLINE;
  }

  /**
   * Ends a run that nobody wants any more; for its thread, at its gates.
   *
   * @throws StatusException {@link Status#CANCELLED} when its caller has gone, {@link
   *     Status#UNAVAILABLE} when its model goes
   */
  public void requireWanted() {
    @Nullable StatusException reason = whyUnwanted();
    if (reason != null) {
      throw reason;
    }
  }

  /** Why nobody wants its run, if nobody does. */
  private @Nullable StatusException whyUnwanted() {
    @Nullable StatusException gone = withdrawal();
    return gone == null && isLeaving() ? line.leaves() : gone;
  }

  /** What its caller is told where others' run, and its own with it, was ended for a reason. */
  StatusException ended(StatusException reason) {
    @Nullable StatusException own = whyUnwanted();
    return own == null ? reason : own;
  }

  /** Tells its caller that it does not run, as nobody wants that any more. */
  void endUnwanted() {
    handler.failed(Objects.requireNonNull(whyUnwanted(), "somebody wants it"));
  }

  /**
   * What its caller is told of a run that failed. One that had no weights yet when its model went
   * finds that there is none.
   */
  public Throwable told(Throwable reason) {
    boolean isGone = reason instanceof StatusException e && e.status() == Status.NOT_FOUND;
    return isGone && isLeaving() ? line.leaves() : reason;
  }

  /** Has it be run where the whole device is: a share of that has failed it. */
  public void leaveShare() {
    leavesShare = true;
  }

  /** Whether it is to run where the whole device is. */
  public boolean leavesShare() {
    return leavesShare;
  }

  /** Its run in a lane has failed. */
  public void failed() {
    whenFailed.run();
  }

  /** The one that a policy has given for it: itself, or one that runs with it. */
  public QueuedRequest polled() {
    return polled;
  }

  /** How many requests its run answers. */
  public long answers() {
    long rows = polled.key.rows();
    return rows == 0 ? 1 : key.rows() / rows;
  }

  /** Runs with another one, or for it. */
  void joins(QueuedRequest first) {
    polled = first;
  }

  /** Whether no other can run with it, as the host cannot put their inputs together. */
  boolean runsAlone() {
    return runsAlone;
  }

  /** Whether it is several that run as one. */
  public boolean isBatch() {
    return polled != this && answers() > 1;
  }

  /** Its run has turned out to need so many bytes of a lane at least; not what others need. */
  public void needsOfLane(long bytes) {
    neededOfLane = bytes;
  }

  /** What its run is known to need of a lane, beside what others have taken; 0 at first. */
  public long neededOfLane() {
    return neededOfLane;
  }

  /** Its turn has come; whether it is the first. Runs that begin anew have others. */
  boolean takesTurn() {
    boolean first = !hasHadItsTurn;
    hasHadItsTurn = true;
    return first;
  }

  /** Its run, which is over, has had so long, without what it waited for others. */
  public void served(long nanos) {
    servedNanos = OptionalLong.of(nanos);
  }

  /** How long its run was served; empty where nobody has said. */
  public OptionalLong servedNanos() {
    return servedNanos;
  }

  /** Claims the request for running; false when it was withdrawn before. */
  boolean start() {
    return state.compareAndSet(State.QUEUED, State.STARTED);
  }

  /** Those of some that could run together with this one, in their order. */
  public List<QueuedRequest> alikeIn(Stream<QueuedRequest> waiting, int count) {
    return waiting.limit(LOOKED_AT).filter(this::isAlike).limit(count).toList();
  }

  /** Whether another one may run together with this one. */
  boolean isAlike(QueuedRequest other) {
    return other != this
        && other.line == line
        && !other.runsAlone
        && !runsAlone
        && other.request.priority() == request.priority()
        && other.key.equals(key)
        && other.request.outputs().equals(request.outputs());
  }

  @Override
  public void withdraw() {
    boolean _ = withdraw(withdrawn());
  }

  @Override
  public void cancel() {
    StatusException reason = withdrawn();
    if (!withdraw(reason) && state.get() == State.STARTED && withdrawal == null) {
      withdrawal = reason;
      if (queue.returned().runsNoMore(this)) {
        handler.failed(reason);
      } else {
        whenUnwanted.run();
      }
    }
  }

  private static StatusException withdrawn() {
    return new StatusException(Status.CANCELLED, "the request was withdrawn");
  }

  /** Ends it unless it has begun to run; false when it has, or has ended. */
  boolean withdraw(StatusException reason) {
    boolean waited = state.compareAndSet(State.QUEUED, State.WITHDRAWN);
    if (waited) {
      queue.withdrawn(this);
      handler.failed(reason);
    }
    return waited;
  }
}
