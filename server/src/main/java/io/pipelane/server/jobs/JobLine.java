package io.pipelane.server.jobs;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.server.placement.JobPlacement;
import io.pipelane.server.placement.PlacedJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The jobs that wait for a thread. Some also wait until a model that has gone is back, and offline
 * ones for a device. Online jobs come before offline ones, each class in an order of its own, in
 * which those that had begun are the first. Safe for any thread.
 */
final class JobLine {
  /* The lock guards the line. Lock order: this one, then a job's. */

  /** What a job waits for that has all but a thread. */
  static final String NO_TURN = "as many jobs run as may at once (jobs.concurrency)";

  /** What a job waits for that has no device. */
  static final String NO_DEVICE = "no device is healthy and without another offline job";

  /** What a job waits for that has not begun, while a model is imported. */
  static final String BEGUN_GO_FIRST =
      "what is free is kept for a job that had begun before the restart, and whose model is being"
          + " imported";

  private static final System.Logger LOG = System.getLogger(JobLine.class.getName());

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final List<Job> waiting = new ArrayList<>();
  private final Optional<JobPlacement> placement;
  private final Set<Job> ofModelsAway = new HashSet<>();

  /** Those of them whose model is being imported, or may still be found by the scan. */
  private final Set<Job> ofModelsComing = new HashSet<>();

  /** Those of them that had begun before a restart, and whose model has been coming since. */
  private final Set<Job> goingOn = new HashSet<>();

  private final Function<JobSpec, Optional<JobModel.Away>> modelAway;
  private final Consumer<JobSpec> want;
  private final Duration pause;
  private final JobOrder order;
  private final Map<Priority, Integer> idleThreads = new EnumMap<>(Priority.class);
  private boolean closed;

  /**
   * Nothing waits yet.
   *
   * @param placement gives each offline job a device; without it none waits for one
   * @param modelAway why a job's model is not in service, if it is not; quick, and called with the
   *     line's lock
   * @param want has the import of a job's model go first, as the job could run; the same
   * @param pause after which it is asked again
   * @param order of the jobs of one class
   */
  JobLine(
      Optional<JobPlacement> placement,
      Function<JobSpec, Optional<JobModel.Away>> modelAway,
      Consumer<JobSpec> want,
      Duration pause,
      JobOrder order) {
    this.placement = placement;
    this.modelAway = modelAway;
    this.want = want;
    this.pause = pause;
    this.order = order;
  }

  /**
   * A job that has come, or has been there before a restart. One that had begun goes on before any
   * begins: while its model is coming, a thread stays free for it, and a device where it needs one.
   */
  void add(Job job) {
    lock.lock();
    try {
      waiting.add(job);
      if (job.hasBegun()) {
        ofModelsAway.add(job); // Until it is looked at.
        goingOn.add(job);
      }
      changed.signalAll(); // Some threads take online jobs alone.
    } finally {
      lock.unlock();
    }
  }

  /**
   * A job whose model has gone; it goes on once that is back, as if it had waited since it came.
   */
  void awaitModel(Job job) {
    lock.lock();
    try {
      int place = 0;
      while (place < waiting.size() && !cameLater(waiting.get(place), job)) {
        place++;
      }
      waiting.add(place, job);
      ofModelsAway.add(job);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private static boolean cameLater(Job job, Job than) {
    return job.work().cameNanos() - than.work().cameNanos() > 0;
  }

  /** Whether the job waited; no thread gets it any more then. */
  boolean remove(Job job) {
    lock.lock();
    try {
      forgetModel(job);
      return waiting.remove(job);
    } finally {
      lock.unlock();
    }
  }

  /** A job that waits for a device may have one now. */
  void devicesChanged() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Takes the next job, which has its device then; blocks. Null once the line is closed, or the
   * thread interrupted.
   *
   * @param classes of jobs that are taken, the first that there is a job of
   */
  @Nullable Job next(List<Priority> classes) {
    lock.lock();
    try {
      @Nullable Job ready = ready(classes);
      while (!closed && ready == null) {
        classes.forEach(taken -> idleThreads.merge(taken, 1, Integer::sum));
        try {
          if (ofModelsAway.isEmpty()) {
            changed.awaitUninterruptibly();
          } else { // Nobody tells when a model comes into service.
            long _ = changed.awaitNanos(pause.toNanos());
          }
        } finally {
          classes.forEach(taken -> idleThreads.merge(taken, -1, Integer::sum));
        }
        ready = ready(classes);
      }
      return ready;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    } finally {
      lock.unlock();
    }
  }

  /** Has all jobs that wait say what for, also while no thread looks for one. */
  void tellReasons() {
    lock.lock();
    try {
      lookForModelsAway();
      for (Job job : waiting) {
        if (idleThreads.getOrDefault(job.spec().priority(), 0) == 0
            && !ofModelsAway.contains(job)) {
          job.running(JobState.QUEUED, NO_TURN);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** The first job that waits for nothing but a thread, if only to be ended; with the lock. */
  private @Nullable Job ready(List<Priority> classes) {
    if (closed) {
      return null;
    }
    lookForModelsAway();
    boolean isKept = false;
    long goingOnSoFar = 0;
    for (Priority wanted : classes) {
      goingOnSoFar += goingOnOf(wanted);
      isKept |=
          goingOnOf(wanted) > othersThatAreFree(wanted)
              || goingOnSoFar > othersThatAreFree(Priority.ONLINE); // All threads take online jobs.
      for (Job job : order.of(waitingOf(wanted))) {
        if (job.isStopped()
            || (!ofModelsAway.contains(job) && mayGo(job, isKept) && hasPlace(job))) {
          waiting.remove(job);
          forgetModel(job);
          return job;
        }
      }
    }
    wantModels(classes);
    return null;
  }

  /** Asks for the models of the first jobs that could go, one for each free thread and device. */
  private void wantModels(List<Priority> classes) {
    if (ofModelsComing.isEmpty()) {
      return; // Jobs are put in order for nothing.
    }
    int asked = 0;
    for (Priority wanted : classes) {
      int most = mostToGo(wanted);
      for (Job job : order.of(waitingOf(wanted))) {
        if (asked < most && ofModelsComing.contains(job)) {
          asked++;
          want(job.spec());
        }
      }
    }
  }

  private void want(JobSpec spec) {
    try {
      want.accept(spec);
    } catch (RuntimeException e) { // It is imported in its turn.
      LOG.log(System.Logger.Level.WARNING, "job " + spec.id() + " asked for its model in vain", e);
    }
  }

  private long goingOnOf(Priority wanted) {
    return goingOn.stream().filter(job -> job.spec().priority() == wanted).count();
  }

  /** How many more jobs of a class can go once the thread that looks has one. */
  private int othersThatAreFree(Priority wanted) {
    return Math.max(0, mostToGo(wanted) - 1);
  }

  /** How many jobs of a class could go at a time, with the thread that looks. */
  private int mostToGo(Priority wanted) {
    int threads = 1 + idleThreads.getOrDefault(wanted, 0);
    return placement.isEmpty() || wanted == Priority.ONLINE
        ? threads
        : Math.min(threads, placement.get().freeDevices());
  }

  /**
   * Whether it may have the thread that looks.
   *
   * @param isKept for jobs that had begun before a restart
   */
  private static boolean mayGo(Job job, boolean isKept) {
    boolean may = !isKept || job.hasBegun();
    if (!may) {
      job.running(JobState.QUEUED, BEGUN_GO_FIRST);
    }
    return may;
  }

  private void forgetModel(Job job) {
    ofModelsAway.remove(job);
    ofModelsComing.remove(job);
    goingOn.remove(job);
  }

  private List<Job> waitingOf(Priority wanted) {
    return waiting.stream().filter(job -> job.spec().priority() == wanted).toList();
  }

  /**
   * Has the jobs say what they wait for whose model was away when they last ran. Each model is
   * asked for once, lest it come back between two of its jobs and the later one go first.
   */
  private void lookForModelsAway() {
    Map<ModelVersion, Optional<JobModel.Away>> known = new HashMap<>();
    for (Job job : List.copyOf(ofModelsAway)) {
      Optional<JobModel.Away> away =
          known.computeIfAbsent(job.spec().model(), _ -> away(job.spec()));
      job.running(JobState.QUEUED, away.map(JobModel.Away::reason).orElse(""));
      if (away.isEmpty()) {
        forgetModel(job);
      } else if (away.get().isComing()) {
        ofModelsComing.add(job);
      } else { // It may never be in service again.
        ofModelsComing.remove(job);
        goingOn.remove(job);
      }
    }
  }

  private Optional<JobModel.Away> away(JobSpec spec) {
    try {
      return modelAway.apply(spec);
    } catch (RuntimeException | Error e) { // A job's run meets the same, and ends it.
      return Optional.empty();
    }
  }

  private boolean hasPlace(Job job) {
    if (placement.isEmpty() || job.spec().priority() == Priority.ONLINE) {
      return true;
    }
    try {
      Optional<PlacedJob> place = placement.get().admit(job.spec().model());
      if (place.isPresent()) {
        job.placed(place.get());
      } else {
        job.running(JobState.QUEUED, NO_DEVICE);
      }
      return place.isPresent();
    } catch (RuntimeException
        | Error e) { // The thread, and jobs that need no device, are not to blame.
      LOG.log(System.Logger.Level.ERROR, "job " + job.spec().id() + " was given no device", e);
      job.running(JobState.QUEUED, "a fault of the server: " + e);
      return false;
    }
  }

  /** Gives out no more jobs. */
  void close() {
    lock.lock();
    try {
      closed = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
