package io.pipelane.server.jobs;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.server.placement.JobPlacement;
import io.pipelane.server.placement.PlacedJob;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Jobs that wait for a thread, and offline ones for a device as well, in the order in which they
 * came. Safe for any thread.
 */
final class JobLine {
  /* The lock guards the line. Lock order: this one, then a job's. */

  /** What a job waits for that has no device. */
  static final String NO_DEVICE = "no device is healthy and without another offline job";

  private static final System.Logger LOG = System.getLogger(JobLine.class.getName());

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Deque<Job> waiting = new ArrayDeque<>();
  private final Optional<JobPlacement> placement;
  private boolean closed;

  /**
   * Nothing waits yet.
   *
   * @param placement gives each offline job a device; without it none waits for one
   */
  JobLine(Optional<JobPlacement> placement) {
    this.placement = placement;
  }

  void add(Job job) {
    lock.lock();
    try {
      waiting.add(job);
      changed.signal();
    } finally {
      lock.unlock();
    }
  }

  /** Whether the job waited; no thread gets it any more then. */
  boolean remove(Job job) {
    lock.lock();
    try {
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

  /** Takes the next job, which has its device then; blocks. Null once the line is closed. */
  @Nullable Job next() {
    lock.lock();
    try {
      @Nullable Job ready = ready();
      while (!closed && ready == null) {
        changed.awaitUninterruptibly();
        ready = ready();
      }
      return ready;
    } finally {
      lock.unlock();
    }
  }

  /** The first job that waits for nothing but a thread; with the lock. */
  private @Nullable Job ready() {
    if (closed) {
      return null;
    }
    for (Job job : waiting) {
      if (hasPlace(job)) {
        waiting.remove(job);
        return job;
      }
    }
    return null;
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
    } catch (RuntimeException e) { // The thread, and jobs that need no device, are not to blame.
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
