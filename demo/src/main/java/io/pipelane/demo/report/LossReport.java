package io.pipelane.demo.report;

/**
 * The outcome of ending the process that a model ran in.
 *
 * @param pid the process's
 * @param requests how often the model was asked, before and after
 * @param right answers that were as before
 * @param slowestMillis the slowest of them
 * @param pauseMillis how long no process was there to run it
 */
public record LossReport(
    String model,
    long pid,
    int requests,
    int right,
    double medianMillis,
    double slowestMillis,
    double pauseMillis) {
  /** Whether every request was answered, and rightly. */
  public boolean isSound() {
    return right == requests;
  }
}
