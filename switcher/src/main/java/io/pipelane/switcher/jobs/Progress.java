package io.pipelane.switcher.jobs;

/** The progress of a job. */
final class Progress {
  private final SimulatedJob job;
  private long iterationsLeft;
  private long startedNanos = -1;
  private int loads;

  Progress(SimulatedJob job) {
    this.job = job;
    this.iterationsLeft = job.iterations();
  }

  SimulatedJob job() {
    return job;
  }

  boolean hasStarted() {
    return startedNanos >= 0;
  }

  void runs(long nowNanos) {
    startedNanos = hasStarted() ? startedNanos : nowNanos;
  }

  void loaded() {
    loads++;
  }

  boolean wasLoaded() {
    return loads > 0;
  }

  /** An iteration has ended; true when it was the last. */
  boolean ran() {
    return --iterationsLeft == 0;
  }

  long remainingNanos() {
    return iterationsLeft * job.iterationNanos();
  }

  JobRecord ended(long nowNanos) {
    return new JobRecord(job, startedNanos, nowNanos, loads);
  }
}
