package io.pipelane.bench.local;

import io.pipelane.bench.local.OpenCaller.End;
import io.pipelane.config.StatusException;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.JobWork;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Jobs of many iterations, all of which wait in a server's queue from the job's coming on, where
 * policies know which are of one job.
 */
public final class LocalJobs {
  private static final double NANOS_PER_SECOND = 1e9;

  private final List<Wanted> wanted;
  private final List<Course> courses;
  private final CountDownLatch ended;
  private final AtomicReference<@Nullable StatusException> failure = new AtomicReference<>();

  /**
   * A job.
   *
   * @param caller asks its model, which no other job has
   * @param arrivalNanos when it comes, from the beginning
   */
  public record Wanted(OpenCaller caller, long arrivalNanos, int iterations) {}

  /**
   * The times of a job that has ended, in seconds from the beginning.
   *
   * @param served when its first iteration had ended
   * @param ended when its last one had
   */
  public record Ended(double arrived, double served, double ended) {}

  /**
   * The course of a job, written by lanes' threads under its own lock, read when all have ended.
   */
  private static final class Course {
    private final JobWork work = new JobWork(System.nanoTime());
    private int left;
    private long firstNanos = Long.MAX_VALUE;
    private long lastNanos;

    /** It has come. */
    Course(int iterations) {
      left = iterations;
      work.left(left);
    }

    synchronized void answered(long nanos, InferenceTimings timings) {
      firstNanos = Math.min(firstNanos, nanos);
      lastNanos = Math.max(lastNanos, nanos);
      work.left(--left);
      work.ran(timings.computedNanos());
    }

    synchronized Ended ended(long arrivalNanos) {
      return new Ended(
          arrivalNanos / NANOS_PER_SECOND,
          firstNanos / NANOS_PER_SECOND,
          lastNanos / NANOS_PER_SECOND);
    }
  }

  private LocalJobs(List<Wanted> wanted) {
    this.wanted = wanted;
    this.courses = new ArrayList<>();
    this.ended = new CountDownLatch(wanted.stream().mapToInt(Wanted::iterations).sum());
  }

  /**
   * Has jobs come at their times, and waits for their ends.
   *
   * @param wanted in the order of their coming
   * @return what became of each, in the same order
   * @throws IllegalStateException when an iteration failed
   */
  public static List<Ended> run(List<Wanted> wanted) throws InterruptedException {
    return new LocalJobs(List.copyOf(wanted)).run();
  }

  /**
   * Has jobs come all at once and do some iterations, so that what each lane makes for a model at
   * its first runs is made.
   */
  public static void warmUp(List<Wanted> wanted, int iterations) throws InterruptedException {
    List<Ended> _ = run(wanted.stream().map(job -> new Wanted(job.caller, 0, iterations)).toList());
  }

  private List<Ended> run() throws InterruptedException {
    long begin = System.nanoTime();
    for (int job = 0; job < wanted.size(); job++) {
      Wanted next = wanted.get(job);
      long due = begin + next.arrivalNanos();
      for (long early = due - System.nanoTime(); early > 0; early = due - System.nanoTime()) {
        LockSupport.parkNanos(early);
      }
      Course course = new Course(next.iterations());
      courses.add(course);
      for (int iteration = 0; iteration < next.iterations(); iteration++) {
        next.caller().ask(course.work, end -> note(course, begin, end));
      }
    }
    ended.await();
    StatusException failed = failure.get();
    if (failed != null) {
      throw new IllegalStateException("an iteration failed", failed);
    }
    List<Ended> ends = new ArrayList<>();
    for (int job = 0; job < wanted.size(); job++) {
      ends.add(courses.get(job).ended(wanted.get(job).arrivalNanos()));
    }
    return ends;
  }

  private void note(Course course, long begin, End end) {
    switch (end) {
      case End.Answered(InferenceTimings timings) ->
          course.answered(System.nanoTime() - begin, timings);
      case End.Failed(StatusException error) -> failure.compareAndSet(null, error);
    }
    ended.countDown();
  }
}
