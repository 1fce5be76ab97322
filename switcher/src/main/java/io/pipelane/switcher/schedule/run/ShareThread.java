package io.pipelane.switcher.schedule.run;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.execution.LaneLease;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.ShareLane;
import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.execution.WeightArrivals.Elsewhere;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.memory.Lease;
import io.pipelane.switcher.memory.MemoryDaemon;
import io.pipelane.switcher.memory.RunControl;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import io.pipelane.switcher.sharing.gate.OfflineRun;
import io.pipelane.switcher.worker.NoSessionRoomException;
import io.pipelane.switcher.worker.Worker;
import io.pipelane.switcher.worker.Worker.SessionRoom;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The thread that runs offline requests in a lane that keeps to a share of the device, of the size
 * that it has now, while online work runs elsewhere. It ends when the queue is closed.
 */
final class ShareThread implements RunControl, OfflineRun {
  /*
   * The run has no turn of Turns: it takes nothing from those that have.
   *
   * Libraries may fail on some partitions of a device (cuBLAS did on 68 and on 36 of 132
   * multiprocessors). So a model whose run fails in one size runs in the next smaller, or
   * elsewhere, for a time (UnfitSizes). Its request is given back, to run elsewhere, and nobody is
   * told of the failure. If it fails there too, the share is not to blame (the request may be), and
   * that is forgotten.
   *
   * What is refused or too large says nothing of a partition. That request alone runs elsewhere,
   * and so do runs like one that was too large for all that the lane may take. A lost worker says
   * nothing of a partition either; its run has been tried again already, so it fails. Where memory
   * is short for the moment (the device's, for a state, for a session) the next run of its kind is
   * tried in the share again.
   *
   * Where offline work has nothing but the share (the gate is not active) there is no elsewhere.
   */
  private static final System.Logger LOG = System.getLogger(ShareThread.class.getName());

  private final RequestQueue queue;
  private final Estimates estimates;
  private final MemoryDaemon daemon;
  private final List<ShareLane> lanes; // from the smallest to the largest
  private final Worker worker;
  private final OfflineGate gate;
  private final LongSupplier nanoClock;
  private final UnfitSizes unfit;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition opened = lock.newCondition();
  private final Thread thread;
  private int size; // that it has run in; the thread's own

  // Guarded by the lock.
  private @Nullable QueuedRequest running; // or the latest
  private @Nullable StopWord stopWord;
  private boolean stands;
  private long standsSinceNanos;
  private long stoodNanos; // of the run under way
  private boolean waits; // for what others hold, or for the end of its process

  /** Starts the thread. */
  ShareThread(RunParts parts) {
    this.queue = parts.queue();
    this.estimates = parts.estimates();
    this.daemon = parts.daemon();
    this.lanes = parts.memory().shareLanes();
    this.worker = parts.worker();
    this.gate = parts.gate();
    this.nanoClock = parts.nanoClock();
    this.unfit = new UnfitSizes(nanoClock);
    gate.onOpened(this::gateChanged);
    gate.onClosed(this::gateChanged);
    thread = Thread.ofPlatform().name("share-lane").daemon().start(this::serve);
  }

  /**
   * Waits until the queue is closed and the run under way has ended.
   *
   * @return false when the time was over before, or the waiting thread was interrupted
   */
  public boolean join(Duration timeout) {
    try {
      return thread.join(timeout);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private void gateChanged() {
    lock.lock();
    try {
      steer();
    } finally {
      lock.unlock();
    }
    if (gate.share().mayBegin() && !queue.isEmpty()) {
      queue.lookAgainForShare();
    }
  }

  /** Under the lock. */
  private void steer() {
    boolean allowed = mayCompute();
    if (allowed && stands) {
      gate.runs().goesOn();
    }
    if (stopWord != null) {
      @Nullable StatusException gone = running == null ? null : running.withdrawal();
      if (gone != null) {
        stopWord.end(gone);
      }
      stopWord.allow(allowed ? 1 : 0);
      stand(!allowed);
    } else if (allowed || isUnwanted()) {
      opened.signal();
    }
  }

  /** A run that is waited for, as its model goes, comes to its end; under the lock. */
  private boolean mayCompute() {
    return gate.share().mayCompute() || (running != null && running.isLeaving());
  }

  /** Under the lock. */
  private boolean isUnwanted() {
    return running != null && running.isUnwanted();
  }

  /** It ends in any case: nobody knows how far it is, and in a share it is slow. */
  @Override
  public void makeWay(boolean atOnce) {
    @Nullable QueuedRequest holding;
    lock.lock();
    try {
      holding = running;
    } finally {
      lock.unlock();
    }
    if (holding != null && gate.isActive() && !holding.isLeaving()) {
      holding.makeWay();
    }
  }

  /** A model leaves: the run under way may be one of it. */
  void modelLeaves() {
    gateChanged();
  }

  /** Under the lock. */
  private void stand(boolean now) {
    if (now && !stands) {
      standsSinceNanos = nanoClock.getAsLong();
    } else if (!now && stands) {
      long stood = nanoClock.getAsLong() - standsSinceNanos;
      stoodNanos += stood;
      gate.runs().held(stood);
    }
    stands = now;
  }

  private void serve() {
    @Nullable QueuedRequest next = next();
    while (next != null) {
      answer(next);
      queue.ended(next);
      next = next();
    }
  }

  private @Nullable QueuedRequest next() {
    return queue.takeForShare(this::isFit, gate.share()::mayBegin);
  }

  private boolean isFit(QueuedRequest request) {
    return !request.leavesShare()
        && !unfit.isTooLarge(request.key())
        && fitting(request) != UnfitSizes.NONE;
  }

  private int fitting(QueuedRequest request) {
    return unfit.fitting(request.request().model(), gate.trial().size());
  }

  /** The size that the share has, or a smaller one that the model runs in. */
  private ShareLane lane(QueuedRequest request) {
    int fitting = fitting(request);
    if (fitting != UnfitSizes.NONE && fitting != size) { // It may have closed meanwhile.
      lanes.get(size).leave();
      size = fitting;
    }
    return lanes.get(size);
  }

  private void answer(QueuedRequest queued) {
    ModelVersion model = queued.request().model();
    Answer answer = new Answer(model, queued.handler());
    long begin = nanoClock.getAsLong();
    begins(queued);
    gate.share().begin(this);
    try {
      answer.complete(run(queued, answer));
      gate.trial().offlineRan(estimates.executionNanos(queued.key()), size);
    } catch (Throwable e) {
      failed(queued, answer, e);
    } finally {
      gate.share().end();
      queued.served(nanoClock.getAsLong() - begin - stoodNanos());
    }
  }

  /**
   * A request is made elsewhere that nobody knows the end of, unless its worker was lost, which has
   * been tried again already, or its device. One that made way has not failed of that.
   */
  private void failed(QueuedRequest queued, Answer answer, Throwable reason) {
    boolean makesWay = queued.makesWay();
    queued.beginsAnew();
    boolean isLost =
        !makesWay && (reason.getCause() instanceof WorkerLostException || !worker.isUsable());
    if (!gate.isActive() || answer.isGiven() || isLost || queued.isUnwanted()) {
      answer.fail(queued.told(reason));
    } else if (makesWay) {
      gate.runs().madeWay();
      queue.returned().giveBack(queued);
    } else {
      if (mayBePartition(reason)) {
        ModelVersion model = queued.request().model();
        queued.whenFailed(() -> unfit.forget(model));
      } else {
        queued.leaveShare();
      }
      queue.returned().giveBack(queued);
    }
  }

  /** While the run holds a lease: a model is forgotten once there is none. */
  private void foundUnfit(QueuedRequest queued, Throwable reason) {
    if (!gate.isActive() || queued.isUnwanted()) {
      return;
    }
    if (reason.getCause() instanceof OutOfDeviceMemoryException) { // See tooLarge.
      unfit.addTooLarge(queued.key());
    } else if (mayBePartition(reason) && worker.isUsable()) {
      ModelVersion model = queued.request().model();
      LOG.log(
          Level.INFO,
          "offline runs of %s do not keep to %d %% of the device for ten minutes, unless this one fails elsewhere too"
              .formatted(model, lanes.get(size).percent()),
          reason);
      unfit.add(model, size);
      gate.trial().offlineFailed(size);
    }
  }

  /** Whether a run may have failed of the multiprocessors that it had. */
  private static boolean mayBePartition(Throwable reason) {
    if (reason.getCause() instanceof WorkerLostException) {
      return false;
    }
    return !(reason instanceof StatusException known)
        || switch (known.status()) {
          case INVALID_ARGUMENT, UNIMPLEMENTED, DEVICE_FAILURE, INTERNAL -> true;
          case UNAUTHENTICATED,
              PERMISSION_DENIED,
              RATE_LIMITED,
              NOT_FOUND,
              TOO_LARGE,
              UNAVAILABLE,
              INSUFFICIENT_MEMORY,
              DEADLINE_EXCEEDED,
              CANCELLED ->
              false;
        };
  }

  private InferenceTimings run(QueuedRequest queued, Answer answer) {
    InferenceRequest request = queued.request();
    long begin = nanoClock.getAsLong();
    ShareLane lane = lane(queued);
    try (Lease lease = daemon.acquire(request.model(), Priority.OFFLINE, this)) {
      retake();
      lease.controlledBy(this, 1);
      Worker.Caller caller = answer.toCaller(() -> timings(queued, begin, lease));
      try {
        runWithRoom(queued, lease, lane, caller);
      } catch (RuntimeException | Error e) {
        foundUnfit(queued, e);
        throw e;
      }
      InferenceTimings timings = timings(queued, begin, lease);
      long computed = timings.executeNanos() - timings.stallNanos();
      gate.runTime().ran(Math.max(0, computed), lane.share()); // It may have stood and stalled.
      return timings;
    }
  }

  private void begins(QueuedRequest queued) {
    queued.whenUnwanted(this::gateChanged);
    lock.lock();
    try {
      running = queued;
      stoodNanos = 0;
      waits = false;
    } finally {
      lock.unlock();
    }
  }

  private void runWithRoom(
      QueuedRequest queued, Lease lease, ShareLane lane, Worker.Caller caller) {
    boolean ran = runInLane(queued, lease, lane, caller);
    while (!ran) {
      leave();
      try (SessionRoom _ = worker.makeRoom(lease, 0, queued.request())) {
        retake();
        ran = runInLane(queued, lease, lane, caller);
      }
    }
  }

  /** Returns false when its session has no room, or not enough. */
  private boolean runInLane(
      QueuedRequest queued, Lease lease, ShareLane lane, Worker.Caller caller) {
    long expected = estimates.history().of(queued.key()).peakBytes();
    try (LaneLease place = lane.enter(expected)) {
      lease.begin();
      worker.run(queued.request(), lease, place, queued.handler(), caller);
      return true;
    } catch (NoSessionRoomException e) {
      return false;
    } catch (OutOfDeviceMemoryException e) {
      throw tooLarge(queued.request(), lane, e);
    }
  }

  /** Of the lane's capacity; what the device has not got for it now fails otherwise. */
  private StatusException tooLarge(
      InferenceRequest request, ShareLane lane, OutOfDeviceMemoryException e) {
    return new StatusException(
        Status.INSUFFICIENT_MEMORY,
        "a run of %s was refused %s in the lane that keeps to a share of the device; that has %s:"
                .formatted(
                    request.model(),
                    new ByteSize(e.refusedBytes()),
                    new ByteSize(lane.capacityBytes()))
            + " raise sharing.offline-memory-percent or device.working-memory, or send smaller"
            + " shapes",
        e);
  }

  /** Standing is waiting in line, wherever in the run it is. */
  private InferenceTimings timings(QueuedRequest queued, long begin, Lease lease) {
    long stood = stoodNanos();
    return new InferenceTimings(
        begin - queued.submittedNanos() + stood,
        lease.stallNanos(),
        nanoClock.getAsLong() - begin - stood,
        lease.segmentNanos());
  }

  private long stoodNanos() {
    lock.lock();
    try {
      return stoodNanos;
    } finally {
      lock.unlock();
    }
  }

  /** A model that is registered anew is tried anew. */
  public void forget(ModelVersion model) {
    unfit.forget(model);
  }

  @Override
  public boolean stands() {
    lock.lock();
    try {
      return waits || (stands && (stopWord == null || stopWord.stands()));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void beforeSegment(int segment) {
    QueuedRequest request;
    lock.lock();
    try {
      awaitOpened();
      if (stands) {
        stand(false);
        gate.runs().goesOn();
      }
      request = Objects.requireNonNull(running, "a segment belongs to a run");
    } finally {
      lock.unlock();
    }
    request.requireWanted();
  }

  /**
   * Stands until the run may compute; under the lock. While online work is measured alone nobody
   * may tell that this has lasted for too long.
   */
  private void awaitOpened() {
    while (!mayCompute() && !isUnwanted()) {
      stand(true);
      long holds = gate.share().holdsNanos();
      if (holds == 0) {
        opened.awaitUninterruptibly();
      } else {
        try {
          long _ = opened.awaitNanos(holds);
        } catch (InterruptedException e) {
          // Nobody has a reason to interrupt the share's thread; the run goes on.
        }
      }
    }
  }

  @Override
  public Elsewhere computesElsewhere(StopWord word) {
    lock.lock();
    try {
      stopWord = word;
      steer();
    } finally {
      lock.unlock();
    }
    return this::returned;
  }

  private void returned() {
    lock.lock();
    try {
      stopWord = null;
      stand(false);
    } finally {
      lock.unlock();
    }
  }

  /** It has no turn, but stands. */
  @Override
  public void leave() {
    lock.lock();
    try {
      waits = true;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void computesNoMore() {
    leave();
  }

  @Override
  public void retake() {
    lock.lock();
    try {
      if (waits) {
        waits = false;
        gate.runs().goesOn();
      }
    } finally {
      lock.unlock();
    }
  }
}
