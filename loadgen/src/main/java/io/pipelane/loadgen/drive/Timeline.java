package io.pipelane.loadgen.drive;

/** The clock of a run and the one thread that everything in it happens on. */
public interface Timeline {
  /** The present, in nanoseconds from an arbitrary origin. */
  long nanoTime();

  /** Runs a task on the run's thread once the clock has reached a time; soon when it has passed. */
  void at(long nanoTime, Runnable task);
}
