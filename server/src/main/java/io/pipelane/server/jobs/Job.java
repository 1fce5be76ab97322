package io.pipelane.server.jobs;

import io.pipelane.server.placement.PlacedJob;
import io.pipelane.switcher.JobWork;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;

/** A job and how far it is. Safe for any thread; one runs it. */
final class Job {
  private final ReentrantLock lock = new ReentrantLock();
  private final CompletableFuture<Void> stop = new CompletableFuture<>();
  private final JobSpec spec;
  private final JobWork work;
  private JobState state;
  private Progress progress;
  private String reason = "";
  private boolean cancelled;
  private boolean leaving;
  private Optional<PlacedJob> place = Optional.empty();

  Job(JobSpec spec, JobState state, Progress progress, JobWork work) {
    this.spec = spec;
    this.state = state;
    this.progress = progress;
    this.work = work;
  }

  /** What policies know of it. */
  JobWork work() {
    return work;
  }

  JobSpec spec() {
    return spec;
  }

  JobStatus status() {
    lock.lock();
    try {
      OptionalLong items =
          state == JobState.DONE ? OptionalLong.of(progress.rows()) : OptionalLong.empty();
      return new JobStatus(
          spec,
          state,
          progress.rows(),
          progress.failed(),
          progress.inputBytes(),
          items,
          place.map(PlacedJob::place),
          reason);
    } finally {
      lock.unlock();
    }
  }

  JobState state() {
    lock.lock();
    try {
      return state;
    } finally {
      lock.unlock();
    }
  }

  /** It has a device of its own from now on. */
  void placed(PlacedJob at) {
    lock.lock();
    try {
      place = Optional.of(at);
    } finally {
      lock.unlock();
    }
  }

  /** Its device; empty where jobs are not placed, for one that waits and for one that has ended. */
  Optional<PlacedJob> place() {
    lock.lock();
    try {
      return place;
    } finally {
      lock.unlock();
    }
  }

  /** It gives its device back, if it has one. */
  void leavePlace() {
    Optional<PlacedJob> left;
    lock.lock();
    try {
      left = place;
      place = Optional.empty();
    } finally {
      lock.unlock();
    }
    left.ifPresent(PlacedJob::leave);
  }

  /** It runs, or waits for what the reason names. */
  void running(JobState now, String waitsFor) {
    lock.lock();
    try {
      if (!state.isEnd()) {
        state = now;
        reason = waitsFor;
        place.ifPresent(at -> at.waits(now == JobState.QUEUED));
      }
    } finally {
      lock.unlock();
    }
  }

  /** How far it is, whatever happens. */
  Progress progress() {
    lock.lock();
    try {
      return progress;
    } finally {
      lock.unlock();
    }
  }

  /** Whether some of its items have their row. */
  boolean hasBegun() {
    return progress().rows() > 0;
  }

  void progressed(Progress now) {
    lock.lock();
    try {
      progress = now;
    } finally {
      lock.unlock();
    }
  }

  void ended(JobState end, String why) {
    lock.lock();
    try {
      state = end;
      reason = why;
    } finally {
      lock.unlock();
    }
  }

  /** It is about to be forgotten; false when it was already. */
  boolean leaves() {
    lock.lock();
    try {
      boolean isFirst = !leaving;
      leaving = true;
      return isFirst;
    } finally {
      lock.unlock();
    }
  }

  /** It could not be forgotten. */
  void stays() {
    lock.lock();
    try {
      leaving = false;
    } finally {
      lock.unlock();
    }
  }

  /** Asks its thread to end it for good. */
  void cancel() {
    lock.lock();
    try {
      cancelled = true;
    } finally {
      lock.unlock();
    }
    stop.complete(null);
  }

  /** Asks its thread to let it be, so that it goes on after the next start. */
  void pause() {
    stop.complete(null);
  }

  boolean isCancelled() {
    lock.lock();
    try {
      return cancelled;
    } finally {
      lock.unlock();
    }
  }

  /** Whether its thread has to leave it. */
  boolean isStopped() {
    return stop.isDone();
  }

  /** Completes when its thread has to leave it. */
  CompletableFuture<Void> stop() {
    return stop;
  }

  /** Waits for a while, or until it has to be left. */
  void rest(Duration time) {
    try {
      stop.get(time.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      // It goes on.
    } catch (ExecutionException e) {
      throw new AssertionError("the future never fails", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      pause();
    }
  }
}
